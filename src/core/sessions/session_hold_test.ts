/**
 * How a session ends by its client's word, on one thread, step by step.
 *
 * Invariant: each state that threads can leave a record in is made by hand
 * here, so that what repairs it does not depend on chance. Threads are tested
 * in `tests/concurrency`.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { packBinding } from "./binding.ts";
import type { KeyHash } from "../hash.ts";
import { enter } from "./session_hold.ts";
import { tagOf } from "./session_owner.ts";
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";
import { SessionTable } from "./session_table.ts";

const TTL_MS = 1_000;
const KEY: KeyHash = { a: 1, b: 2 };

/** A table of one bucket. */
function oneBucket(): SessionTable {
  return SessionTable.create({ capacity: 8, idleTtlMs: TTL_MS, epochMs: 0 });
}

/** Pins a session with a past. */
function pinServed(table: SessionTable, key: KeyHash = KEY): number {
  const record = table.pin(key, 0);
  table.addTurn(record);
  table.confirm(record, 0, packBinding(3, 1));
  table.addService(record, {
    inheritedMs: 0,
    inheritedWaitMs: 0,
    serviceMs: 5_000,
    waitMs: 2_000,
  });
  return record;
}

/** All that is known of a session besides its holds. */
function pastOf(table: SessionTable, record: number): number[] {
  return [
    table.binding(record),
    table.tentative(record),
    table.turns(record),
    table.criticalPathMs(record),
    table.attainedMs(record),
    table.waitedMs(record),
  ];
}

const NO_PAST = [0, 0, 0, 0, 0, 0];

/** Takes hold of all records but those in use, and returns how many. */
function fill(table: SessionTable): number {
  let count = 0;
  while (table.pin({ a: 100 + count, b: 2 }, 0) >= 0) count++;
  return count;
}

test("endKey() of no session does nothing", () => {
  const table = oneBucket();
  assertEquals(table.endKey(KEY), false);
  pinServed(table, { a: KEY.a, b: 3 });
  assertEquals(table.endKey(KEY), false);
  assertEquals(table.gauges().occupied, 1);
});

test("endKey() frees a session that nobody holds at once", () => {
  for (const key of [KEY, { a: 0, b: 0 }, { a: -1, b: -1 }]) {
    const table = oneBucket();
    table.unpin(pinServed(table, key), 0);
    assertEquals(table.endKey(key), true);
    assertEquals(table.endKey(key), false);
    assertEquals(table.find(key), -1);
    assertEquals(table.gauges().occupied, 0);
    assertEquals(table.gauges().evictions, 0);
    assertEquals(pastOf(table, table.pin(key, 0)), NO_PAST);
    assertEquals(fill(table), 7);
  }
});

test("endKey() counts an expired session until it is swept", () => {
  for (const isSwept of [false, true]) {
    const table = oneBucket();
    table.unpin(pinServed(table), 0);
    const nowMs = 2 * TTL_MS;
    if (isSwept) table.sweep({ from: 0, count: 8, nowMs }, () => {});
    assertEquals(table.endKey(KEY), !isSwept);
    assertEquals(table.gauges().occupied, 0);
  }
});

test("endKey() gives up when another thread's claim hangs", () => {
  const table = oneBucket();
  const record = pinServed(table);
  const words = new Int32Array(table.buffer);
  words[fieldsOf(record) + FIELD.pins] = -1;
  assertEquals(table.endKey(KEY), false);
});

test("an ended session is forgotten at once, and free with its last hold", () => {
  const ends: Record<string, (table: SessionTable, record: number) => void> = {
    "by record": (table, record) => table.end(record),
    "by key": (table) => assertEquals(table.endKey(KEY), true),
    "twice": (table, record) => {
      table.end(record);
      table.end(record);
    },
  };
  for (const [name, end] of Object.entries(ends)) {
    const table = oneBucket();
    const record = pinServed(table);
    assertEquals(table.pin(KEY, 0), record);
    end(table, record);
    assertEquals(pastOf(table, record), NO_PAST, name);
    assertEquals(table.find(KEY), -1, name);
    assertEquals(table.pins(record), 2, name);
    table.unpin(record, 0);
    assertEquals(table.gauges().occupied, 1, name);
    table.unpin(record, 0);
    assertEquals(table.gauges().occupied, 0, name);
    assertEquals(table.pins(record), 0, name);
    table.unpin(record, 0);
    assertEquals(table.gauges().occupied, 0, name);
    assertEquals(fill(table), 8, name);
    assertEquals(table.gauges().evictions, 0, name);
  }
});

test("a call after the end starts anew while old ones run on", () => {
  const table = oneBucket();
  const old = pinServed(table);
  table.end(old);
  const record = table.pin(KEY, 0);
  assert(record >= 0 && record !== old);
  assertEquals(pastOf(table, record), NO_PAST);
  table.addService(old, {
    inheritedMs: 5_000,
    inheritedWaitMs: 2_000,
    serviceMs: 1_000,
    waitMs: 0,
  });
  table.confirm(old, packBinding(3, 1), packBinding(3, 1));
  table.noteFailure(old, packBinding(3, 1));
  assertEquals(table.addTurn(old), 1);
  assertEquals(table.bindTentative(old, 0, packBinding(4, 1)) !== 0, true);
  assertEquals(pastOf(table, record), NO_PAST);
  assertEquals(table.find(KEY), record);
  assertEquals(table.gauges().occupied, 2);
  table.unpin(old, 0);
  assertEquals(table.find(KEY), record);
  assertEquals(table.gauges().occupied, 1);
  table.unpin(record, 0);
  assertEquals(table.find(KEY), record);
});

test("what calls leave in an ended record is not found by its next session", () => {
  const table = oneBucket();
  const old = pinServed(table);
  table.end(old);
  table.addTurn(old);
  table.addService(old, {
    inheritedMs: 9,
    inheritedWaitMs: 9,
    serviceMs: 9,
    waitMs: 9,
  });
  table.bindTentative(old, 0, packBinding(4, 1));
  table.unpin(old, 0);
  const next = table.pin({ a: 9, b: 9 }, 0);
  assertEquals(next, old);
  assertEquals(pastOf(table, next), NO_PAST);
});

test("ended records that are held are no room for others", () => {
  const table = oneBucket();
  const records = Array.from({ length: 8 }, () => {
    const record = table.pin(KEY, 0);
    table.end(record);
    return record;
  });
  assertEquals(new Set(records).size, 8);
  assertEquals(table.pin(KEY, 0), -1);
  assertEquals(table.gauges().fullBuckets, 1);
  table.unpin(records[5] ?? -1, 0);
  assertEquals(table.pin(KEY, 0), records[5]);
});

test("sweep() and clear() leave an ended record to those who hold it", () => {
  const table = oneBucket();
  const record = pinServed(table);
  table.end(record);
  const nowMs = 100 * TTL_MS;
  const report = table.sweep({ from: 0, count: 8, nowMs }, () => {
    throw new Error("Cannot show a session that has ended");
  });
  assertEquals([report.expired, report.repaired], [0, 0]);
  table.clear();
  assertEquals(table.pins(record), 1);
  table.unpin(record, nowMs);
  assertEquals(table.gauges().occupied, 0);
});

/** A record as a thread leaves it between its last hold and `disown`. */
function stoppedOnTheWayOut(table: SessionTable): number {
  const record = pinServed(table);
  table.end(record);
  new Int32Array(table.buffer)[fieldsOf(record) + FIELD.pins] = 0;
  assertEquals(table.gauges().occupied, 1);
  return record;
}

test("a record left on its way out is counted off by whoever owns it next", () => {
  const owners: Record<string, (table: SessionTable, record: number) => void> =
    {
      "a claim": (table) => table.unpin(table.pin({ a: 7, b: 7 }, 0), 0),
      "a call that comes too late": (table, record) => {
        const words = new Int32Array(table.buffer);
        assertEquals(enter(words, record, KEY, 0), false);
        assertEquals(table.gauges().occupied, 0);
        table.unpin(table.pin({ a: 7, b: 7 }, 0), 0);
      },
      "a clearing": (table) => {
        table.clear();
        table.unpin(table.pin({ a: 7, b: 7 }, 0), 0);
      },
    };
  for (const [name, own] of Object.entries(owners)) {
    const table = oneBucket();
    own(table, stoppedOnTheWayOut(table));
    assertEquals(table.gauges().occupied, 1, name);
    assertEquals(table.gauges().evictions, 0, name);
  }
});

test("a call that comes too late frees the record if its hold is the last", () => {
  const table = oneBucket();
  const record = pinServed(table);
  const words = new Int32Array(table.buffer);
  const pinsAt = fieldsOf(record) + FIELD.pins;
  table.end(record);
  assertEquals(enter(words, record, KEY, 0), false);
  assertEquals(words[pinsAt], 1);
  table.unpin(record, 0);
  assertEquals(words[pinsAt], 0);
  assertEquals(words[tagOf(record) + LAYOUT.bucketRecords], 0);
  assertEquals(enter(words, record, KEY, 0), false);
  assertEquals(table.gauges().occupied, 0);
});
