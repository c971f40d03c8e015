/**
 * The session table on one thread: limits in tables, then against a `Map`.
 *
 * Invariant: time is an argument, so nothing here waits. Threads are tested in
 * `tests/concurrency`.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { packBinding } from "./binding.ts";
import { hashBytes, type KeyHash } from "../hash.ts";
import { FIELD, fieldsOf } from "./session_record.ts";
import type { SessionView } from "./session_sweep.ts";
import { SessionTable } from "./session_table.ts";

const TTL_MS = 1_000;
const EPOCH_MS = 1_000_000;

/** A table of one bucket, so that any nine keys collide. */
function oneBucket(): SessionTable {
  return SessionTable.create({
    capacity: 8,
    idleTtlMs: TTL_MS,
    epochMs: EPOCH_MS,
  });
}

function keyOf(text: string): KeyHash {
  return hashBytes(new TextEncoder().encode(text));
}

/** Pins and unpins once; returns the record. */
function touch(table: SessionTable, text: string, nowMs: number): number {
  const record = table.pin(keyOf(text), nowMs);
  table.addTurn(record);
  table.unpin(record, nowMs);
  return record;
}

test("SessionTable.create() refuses what is no capacity", () => {
  for (const capacity of [NaN, -1, 0, 0.5, 2 ** 24 + 1, Infinity]) {
    assertThrows(
      () => SessionTable.create({ capacity, idleTtlMs: 1, epochMs: 0 }),
      RangeError,
      "Cannot make a session table",
    );
  }
});

test("SessionTable.create() rounds the capacity up to whole buckets", () => {
  const cases = [[1, 8], [8, 8], [9, 16], [262_144, 262_144]] as const;
  for (const [capacity, expected] of cases) {
    const table = SessionTable.create({ capacity, idleTtlMs: 1, epochMs: 0 });
    assertEquals(table.capacity, expected);
    assertEquals(table.buffer.byteLength, SessionTable.bytesFor(capacity));
  }
});

test("SessionTable takes at most 96 bytes a session at half load", () => {
  assert(SessionTable.bytesFor(2 ** 21) / 2 ** 20 <= 96);
});

test("pin() gives one record for one key, and another for another", () => {
  const table = oneBucket();
  const record = table.pin(keyOf("a"), EPOCH_MS);
  assertEquals(table.pin(keyOf("a"), EPOCH_MS), record);
  assertEquals(table.pins(record), 2);
  assert(table.pin(keyOf("b"), EPOCH_MS) !== record);
  assertEquals(table.find(keyOf("a")), record);
  assertEquals(table.find(keyOf("absent")), -1);
});

test("pin() tells keys apart that differ in one lane or hash to 0", () => {
  const table = oneBucket();
  const keys = [{ a: 0, b: 0 }, { a: 5, b: 0 }, { a: 0, b: 5 }, { a: 5, b: 5 }];
  const records = keys.map((key) => table.pin(key, EPOCH_MS));
  assertEquals(new Set(records).size, keys.length);
  assertEquals(keys.map((key) => table.find(key)), records);
});

test("a session starts anew exactly when it has been idle for the limit", () => {
  const cases: [idleMs: number, turns: number][] = [
    [TTL_MS + 100, 1],
    [TTL_MS, 1],
    [TTL_MS - 100, 2],
    [0, 2],
  ];
  for (const [idleMs, turns] of cases) {
    const table = oneBucket();
    const record = table.pin(keyOf("a"), EPOCH_MS);
    table.addTurn(record);
    table.confirm(record, 0, packBinding(3, 1));
    table.unpin(record, EPOCH_MS + 500);
    const again = table.pin(keyOf("a"), EPOCH_MS + 500 + idleMs);
    assertEquals(again, record);
    assertEquals(table.addTurn(again), turns, `idle for ${idleMs} ms`);
    assertEquals(table.binding(again) !== 0, turns === 2);
  }
});

test("a session in flight does not expire, however long it runs", () => {
  const table = oneBucket();
  const record = table.pin(keyOf("a"), EPOCH_MS);
  table.confirm(record, 0, packBinding(3, 1));
  const later = EPOCH_MS + 100 * TTL_MS;
  assertEquals(table.pin(keyOf("a"), later), record);
  assertEquals(table.binding(record), packBinding(3, 1));
});

test("setIdleTtl() holds for the view of every thread", () => {
  const table = oneBucket();
  const other = new SessionTable(table.buffer);
  touch(table, "a", EPOCH_MS);
  other.setIdleTtl(5 * TTL_MS);
  const record = touch(table, "a", EPOCH_MS + 4 * TTL_MS);
  assertEquals(table.turns(record), 2);
});

test("a full bucket gives up its longest idle session, never one in flight", () => {
  const table = oneBucket();
  table.pin(keyOf("busy"), EPOCH_MS);
  for (let i = 0; i < 7; i++) touch(table, `s${i}`, EPOCH_MS + 100 * (i + 1));
  touch(table, "s0", EPOCH_MS + 800);
  touch(table, "new", EPOCH_MS + 900);
  assertEquals(table.find(keyOf("s1")), -1);
  assert(table.find(keyOf("busy")) >= 0);
  assert(table.find(keyOf("s0")) >= 0);
  assertEquals(table.gauges().evictions, 1);
  assertEquals(table.gauges().occupied, 8);
});

test("pin() gives -1 when the bucket is in flight, and works again after", () => {
  const table = oneBucket();
  const records = Array.from(
    { length: 8 },
    (_, i) => table.pin(keyOf(`s${i}`), EPOCH_MS),
  );
  assertEquals(table.pin(keyOf("late"), EPOCH_MS), -1);
  assertEquals(table.gauges().fullBuckets, 1);
  table.unpin(records[3] ?? -1, EPOCH_MS);
  assertEquals(table.pin(keyOf("late"), EPOCH_MS), records[3]);
});

test("unpin() never goes below none", () => {
  const table = oneBucket();
  const record = touch(table, "a", EPOCH_MS);
  table.unpin(record, EPOCH_MS);
  assertEquals(table.pins(record), 0);
  assertEquals(table.pin(keyOf("a"), EPOCH_MS), record);
  assertEquals(table.pins(record), 1);
});

test("bindTentative() lets the first of parallel calls choose", () => {
  const table = oneBucket();
  const record = table.pin(keyOf("a"), EPOCH_MS);
  const [one, two] = [packBinding(1, 1), packBinding(2, 1)];
  assertEquals(table.bindTentative(record, 0, one), one);
  assertEquals(table.bindTentative(record, 0, two), one);
  assertEquals(table.bindTentative(record, one, two), two);
});

test("an unconfirmed binding goes with the last call in flight", () => {
  const table = oneBucket();
  const record = table.pin(keyOf("a"), EPOCH_MS);
  table.pin(keyOf("a"), EPOCH_MS);
  table.bindTentative(record, 0, packBinding(1, 1));
  table.unpin(record, EPOCH_MS);
  table.pin(keyOf("a"), EPOCH_MS);
  assertEquals(table.tentative(record), packBinding(1, 1));
  table.unpin(record, EPOCH_MS);
  table.unpin(record, EPOCH_MS);
  assertEquals(table.pin(keyOf("a"), EPOCH_MS), record);
  assertEquals(table.tentative(record), 0);
  assertEquals(table.binding(record), 0);
});

test("confirm() binds by the first answer and replaces what was seen", () => {
  const table = oneBucket();
  const record = table.pin(keyOf("a"), EPOCH_MS);
  const [one, two] = [packBinding(1, 1), packBinding(2, 1)];
  table.bindTentative(record, 0, one);
  assertEquals(table.confirm(record, 0, two), true);
  assertEquals(table.confirm(record, 0, one), false);
  assertEquals(table.binding(record), two);
  assertEquals(table.tentative(record), 0);
  assertEquals(table.confirm(record, two, one), true);
  assertEquals(table.binding(record), one);
});

test("noteFailure() drops a binding at the third failure in a row", () => {
  const table = oneBucket();
  const record = table.pin(keyOf("a"), EPOCH_MS);
  const [one, two] = [packBinding(0, 1), packBinding(0, 2)];
  table.confirm(record, 0, one);
  assertEquals(table.noteFailure(record, one), false);
  assertEquals(table.noteFailure(record, one), false);
  table.confirm(record, one, one);
  assertEquals(table.noteFailure(record, two), false);
  assertEquals(table.noteFailure(record, one), false);
  assertEquals(table.noteFailure(record, one), false);
  assertEquals(table.binding(record), one);
  assertEquals(table.noteFailure(record, one), true);
  assertEquals(table.binding(record), 0);
});

test("sweep() shows live sessions, frees expired ones and goes on", () => {
  const table = SessionTable.create({
    capacity: 64,
    idleTtlMs: TTL_MS,
    epochMs: EPOCH_MS,
  });
  touch(table, "old", EPOCH_MS);
  const busy = table.pin(keyOf("busy"), EPOCH_MS);
  table.confirm(busy, 0, packBinding(7, 1));
  touch(table, "young", EPOCH_MS + 900);
  const nowMs = EPOCH_MS + TTL_MS;
  const seen: SessionView[] = [];
  const visit = (view: SessionView) => seen.push({ ...view });
  const half = table.sweep({ from: 0, count: 32, nowMs }, visit);
  const rest = table.sweep({ from: half.next, count: 99, nowMs }, visit);
  assertEquals([half.next, rest.next], [32, 0]);
  assertEquals(half.expired + rest.expired, 1);
  assertEquals(
    seen.map((view) => [view.pins, view.bound, view.turns, view.lastUseMs])
      .sort(),
    [
      [0, 0, 1, EPOCH_MS + 900],
      [1, packBinding(7, 1), 0, EPOCH_MS],
    ],
  );
  assertEquals(table.find(keyOf("old")), -1);
  assertEquals(table.gauges().occupied, 2);
});

test("a claim left by a stopped thread is waited for briefly, then swept", () => {
  const table = oneBucket();
  const record = touch(table, "a", EPOCH_MS);
  const words = new Int32Array(table.buffer);
  words[fieldsOf(record) + FIELD.pins] = -1;
  assertEquals(table.pin(keyOf("a"), EPOCH_MS), -1);
  const sweepAt = (nowMs: number) =>
    table.sweep({ from: 0, count: 8, nowMs }, () => {}).repaired;
  assertEquals(sweepAt(EPOCH_MS), 0);
  assertEquals(sweepAt(EPOCH_MS + 4_900), 0);
  assertEquals(sweepAt(EPOCH_MS + 5_000), 1);
  assertEquals(table.gauges().repairs, 1);
  assertEquals(table.pin(keyOf("a"), EPOCH_MS + 5_000), record);
});

test("a claim that finishes late is not taken for a dead one", () => {
  const table = oneBucket();
  const record = touch(table, "a", EPOCH_MS);
  const words = new Int32Array(table.buffer);
  words[fieldsOf(record) + FIELD.pins] = -1;
  table.sweep({ from: 0, count: 8, nowMs: EPOCH_MS }, () => {});
  words[fieldsOf(record) + FIELD.pins] = 1;
  const late = { from: 0, count: 8, nowMs: EPOCH_MS + 9_000 };
  assertEquals(table.sweep(late, () => {}).repaired, 0);
  assertEquals(table.pins(record), 1);
});

test("clear() frees idle sessions and unbinds those in flight", () => {
  const table = oneBucket();
  touch(table, "idle", EPOCH_MS);
  const busy = table.pin(keyOf("busy"), EPOCH_MS);
  table.confirm(busy, 0, packBinding(7, 1));
  table.clear();
  assertEquals(table.find(keyOf("idle")), -1);
  assertEquals(table.find(keyOf("busy")), busy);
  assertEquals(table.binding(busy), 0);
  assertEquals(table.gauges().occupied, 1);
});

test("PS #687, llm-d #1396: 200,000 sessions stay in the memory of 1,024", () => {
  const table = SessionTable.create({
    capacity: 1_024,
    idleTtlMs: TTL_MS,
    epochMs: EPOCH_MS,
  });
  for (let i = 0; i < 200_000; i++) {
    const record = table.pin({ a: Math.imul(i, 0x9e3779b1), b: i }, EPOCH_MS);
    table.unpin(record, EPOCH_MS);
  }
  const { occupied, evictions } = table.gauges();
  assertEquals(occupied, 1_024);
  assertEquals(evictions, 200_000 - 1_024);
});

/** What the model knows of a session. */
interface Known {
  turns: number;
  pins: number;
  lastUseMs: number;
  bound: number;
  failures: number;
  pathMs: number;
  attainedMs: number;
  waitedMs: number;
}

/** The table's model: sessions by key, and ended ones that are held. */
interface Model {
  readonly known: Map<number, Known>;
  readonly ended: { record: number; pins: number }[];
}

const KEYS = 12;
const step = fc.record({
  act: fc.constantFrom(
    "pin",
    "pin",
    "unpin",
    "confirm",
    "fail",
    "serve",
    "end",
    "end key",
    "unpin ended",
    "sweep",
  ),
  key: fc.nat(KEYS - 1),
  waitMs: fc.constantFrom(0, 0, 100, 300, TTL_MS),
  slot: fc.nat(3),
});

test("against a Map of sessions, any run of steps gives the same", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
      const table = oneBucket();
      const model: Model = { known: new Map(), ended: [] };
      let nowMs = EPOCH_MS;
      for (const { act, key, waitMs, slot } of steps) {
        nowMs += waitMs;
        const hash = keyOf(`k${key}`);
        const record = table.find(hash);
        const known = model.known.get(key);
        if (act === "pin") pinBoth(table, model, { key, hash, nowMs });
        else if (act === "end key") {
          assertEquals(table.endKey(hash), known !== undefined);
          endModel(model, key, record);
        } else if (act === "unpin ended") unpinEnded(table, model, nowMs);
        else if (act === "sweep") sweepBoth(table, model, nowMs);
        else if (known !== undefined && known.pins > 0) {
          if (act === "end") {
            table.end(record);
            endModel(model, key, record);
          } else actBoth(table, known, { act, record, slot, nowMs });
        }
        assertSame(table, model);
      }
    }),
    { numRuns: 200 },
  );
});

/** Compares all that the table knows with the model. */
function assertSame(table: SessionTable, { known, ended }: Model): void {
  assert(known.size + ended.length <= 8);
  assertEquals(table.gauges().occupied, known.size + ended.length);
  for (const { record, pins } of ended) {
    assertEquals(table.pins(record), pins);
  }
  for (let key = 0; key < KEYS; key++) {
    const one = known.get(key);
    const at = table.find(keyOf(`k${key}`));
    assertEquals(at >= 0, one !== undefined, `k${key}`);
    if (one === undefined) continue;
    assert(ended.every(({ record }) => record !== at));
    assertEquals(
      [table.turns(at), table.pins(at), table.binding(at)],
      [one.turns, one.pins, one.bound],
    );
    assertEquals(
      [table.criticalPathMs(at), table.attainedMs(at), table.waitedMs(at)],
      [one.pathMs, one.attainedMs, one.waitedMs],
    );
  }
}

/** Ends a session of the model that stands in `record`. */
function endModel(model: Model, key: number, record: number): void {
  const pins = model.known.get(key)?.pins ?? 0;
  if (pins > 0) model.ended.push({ record, pins });
  model.known.delete(key);
}

/** Gives back a hold of the session that was ended first. */
function unpinEnded(table: SessionTable, model: Model, nowMs: number): void {
  const first = model.ended[0];
  if (first === undefined) return;
  table.unpin(first.record, nowMs);
  if (--first.pins === 0) model.ended.shift();
}

/** Frees what has expired in the table and in the model. */
function sweepBoth(table: SessionTable, model: Model, nowMs: number): void {
  const expired = [...model.known].filter(([, { pins, lastUseMs }]) =>
    pins === 0 && nowMs - lastUseMs >= TTL_MS
  );
  let shown = 0;
  const range = { from: 0, count: table.capacity, nowMs };
  const report = table.sweep(range, () => shown++);
  assertEquals([report.expired, report.repaired], [expired.length, 0]);
  expired.forEach(([key]) => model.known.delete(key));
  assertEquals(shown, model.known.size);
}

/** Pins a key in the table and in the model. */
function pinBoth(
  table: SessionTable,
  model: Model,
  at: { key: number; hash: KeyHash; nowMs: number },
): void {
  const idle = [...model.known].filter(([, { pins }]) => pins === 0);
  const isFull = !model.known.has(at.key) &&
    model.known.size + model.ended.length === 8;
  const record = table.pin(at.hash, at.nowMs);
  if (isFull && idle.length === 0) return assertEquals(record, -1);
  table.addTurn(record);
  if (isFull) {
    const oldest = Math.min(...idle.map(([, { lastUseMs }]) => lastUseMs));
    const gone = idle.filter(([key]) => table.find(keyOf(`k${key}`)) < 0);
    assertEquals(gone.map(([, { lastUseMs }]) => lastUseMs), [oldest]);
    gone.forEach(([key]) => model.known.delete(key));
  }
  let known = model.known.get(at.key);
  const isExpired = known?.pins === 0 && at.nowMs - known.lastUseMs >= TTL_MS;
  if (known === undefined || isExpired) {
    known = {
      turns: 0,
      pins: 0,
      lastUseMs: 0,
      bound: 0,
      failures: 0,
      pathMs: 0,
      attainedMs: 0,
      waitedMs: 0,
    };
  }
  if (known.pins === 0) known.lastUseMs = at.nowMs;
  known.turns++;
  known.pins++;
  model.known.set(at.key, known);
}

/** Does one thing to a held session in the table and in the model. */
function actBoth(
  table: SessionTable,
  known: Known,
  at: { act: string; record: number; slot: number; nowMs: number },
): void {
  const word = packBinding(at.slot, 1);
  if (at.act === "unpin") {
    table.unpin(at.record, at.nowMs);
    known.pins--;
    known.lastUseMs = at.nowMs;
  } else if (at.act === "confirm") {
    table.confirm(at.record, known.bound, word);
    known.bound = word;
    known.failures = 0;
  } else if (at.act === "serve") {
    const [inheritedMs, inheritedWaitMs] = [known.pathMs, known.waitedMs];
    const [serviceMs, waitMs] = [at.slot * 10, at.slot];
    const call = { inheritedMs, inheritedWaitMs, serviceMs, waitMs };
    table.addService(at.record, call);
    known.pathMs += serviceMs;
    known.attainedMs += serviceMs;
    known.waitedMs += waitMs;
  } else if (known.bound === word) {
    table.noteFailure(at.record, word);
    if (++known.failures === 3) {
      known.bound = 0;
      known.failures = 0;
    }
  }
}
