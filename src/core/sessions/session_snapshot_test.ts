/**
 * Snapshots of the session table as bytes: what is refused and why, what is
 * kept, and what comes back.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { test } from "../../../tests/leakproof.ts";
import { keyOf } from "../../../tests/placement_world.ts";
import {
  fileOf,
  type Given,
  SnapshotSite,
  TTL_MS,
} from "../../../tests/snapshot_site.ts";
import { FORMAT, openSnapshot, snapshotBytes } from "./session_snapshot.ts";
import { SnapshotRefusal } from "./snapshot_head.ts";
import { RECORD_BYTES } from "./snapshot_record.ts";

const NOW_MS = 1_700_000_000_000;

const SLOTS = { e0: [0, 1], e1: [7, 3], "http://e2": [255, 65_535] } as const;

/** The same endpoints after a restart that listed them in another order. */
const LATER_SLOTS = { "http://e2": [0, 1], e0: [1, 1], e1: [2, 1] } as const;

function site(capacity = 64): SnapshotSite {
  return new SnapshotSite(SLOTS, { capacity, startMs: NOW_MS });
}

function laterSite(capacity = 64): SnapshotSite {
  return new SnapshotSite(LATER_SLOTS, { capacity, startMs: NOW_MS });
}

/** A snapshot of two sessions. */
function small(): Uint8Array<ArrayBuffer> {
  const former = site();
  former.put({ key: keyOf("a"), endpoint: "e0", lastUseMs: NOW_MS });
  former.put({ key: keyOf("b"), endpoint: "e1", lastUseMs: NOW_MS });
  return former.snapshot(NOW_MS);
}

/** A file with a head of one's own, whose checksum holds. */
function withHead(head: unknown): Uint8Array {
  const text = new TextEncoder().encode(
    typeof head === "string" ? head : JSON.stringify(head),
  );
  const bytes = new Uint8Array(FORMAT.openingBytes + text.length);
  const view = new DataView(bytes.buffer);
  bytes.set(FORMAT.name);
  view.setUint32(FORMAT.versionAt, FORMAT.version, true);
  view.setUint32(FORMAT.headBytesAt, text.length, true);
  bytes.set(text, FORMAT.openingBytes);
  const hash = createHash("sha256").update(text);
  hash.update(bytes.subarray(0, FORMAT.digestAt));
  bytes.set(hash.digest(), FORMAT.digestAt);
  return bytes;
}

/** `bytes` with a 32-bit number changed. */
function withWord(bytes: Uint8Array, at: number, word: number): Uint8Array {
  const changed = Uint8Array.from(bytes);
  new DataView(changed.buffer).setUint32(at, word, true);
  return changed;
}

test("a file that cannot be used is refused with the reason", () => {
  const good = small();
  const cases: [bytes: Uint8Array, reason: string][] = [
    [new Uint8Array(), "is no snapshot of sessions"],
    [new Uint8Array(64), "is no snapshot of sessions"],
    [new TextEncoder().encode("TRYST"), "is no snapshot of sessions"],
    [new TextEncoder().encode('{"sessions":[]}'), "is no snapshot"],
    [good.subarray(0, 8), "ends after 8 bytes"],
    [good.subarray(0, 63), "ends after 63 bytes"],
    [good.subarray(0, 64), "has 64 bytes"],
    [good.subarray(0, good.length - 1), `has ${good.length - 1} bytes`],
    [good.subarray(0, good.length - RECORD_BYTES), "tells of"],
    [Uint8Array.from([...good, 0]), `has ${good.length + 1} bytes`],
    [withWord(good, FORMAT.versionAt, 0), "has format version 0"],
    [withWord(good, FORMAT.versionAt, 2), "version 2: this program reads 1"],
    [withWord(good, FORMAT.countAt, 3), "tells of"],
    [withWord(good, FORMAT.countAt, FORMAT.countMax), "tells of"],
    [withWord(good, FORMAT.countAt, FORMAT.countMax + 1), "at most"],
    [withWord(good, FORMAT.headBytesAt, FORMAT.headBytesMax + 1), "at most"],
    [withWord(good, 20, 1), "its checksum does not hold"],
    [withWord(good, FORMAT.openingBytes, 0), "its checksum does not hold"],
  ];
  for (const [bytes, reason] of cases) {
    assertThrows(() => openSnapshot(bytes), SnapshotRefusal, reason);
  }
  assertEquals(openSnapshot(good).count, 2);
});

test("memory is asked for by the opening alone, and only up to a bound", () => {
  const opening = small().subarray(0, FORMAT.openingBytes);
  const { countMax, headBytesMax, openingBytes } = FORMAT;
  const most = withWord(
    withWord(opening, FORMAT.countAt, countMax),
    FORMAT.headBytesAt,
    headBytesMax,
  );
  assertEquals(
    snapshotBytes(most),
    openingBytes + headBytesMax + countMax * RECORD_BYTES,
  );
});

test("a head that refers to what is not there is refused", () => {
  const pool = { name: "*", seed: 0, members: [0], models: ["m"] };
  const plan = { endpoints: ["e"], pools: [pool], whole: 0, unlisted: -1 };
  const secret = { low: -(2 ** 31), high: 2 ** 31 - 1 };
  const head = { writtenAtMs: 1, idleTtlMs: 1, capacity: 8, secret, plan };
  assertEquals(openSnapshot(withHead(head)).head, head);
  const inPlan = (change: object) => ({
    ...head,
    plan: { ...plan, ...change },
  });
  const inPool = (change: object) =>
    inPlan({ pools: [{ ...pool, ...change }] });
  const cases: [head: unknown, reason: string][] = [
    ["", "not JSON"],
    ["{", "not JSON"],
    ["null", '"head" that is no mapping'],
    ["[]", '"head" that is no mapping'],
    [{}, '"writtenAtMs"'],
    [{ ...head, writtenAtMs: "1" }, '"writtenAtMs"'],
    [{ ...head, writtenAtMs: -1 }, '"writtenAtMs"'],
    [{ ...head, idleTtlMs: 0.5 }, '"idleTtlMs"'],
    [{ ...head, capacity: null }, '"capacity"'],
    [{ ...head, secret: 1 }, '"secret" that is no mapping'],
    [{ ...head, secret: { low: 0, high: 2 ** 31 } }, '"high"'],
    [{ ...head, secret: { low: 0.5, high: 0 } }, '"low"'],
    [{ ...head, plan: 1 }, '"plan" that is no mapping'],
    [inPlan({ endpoints: "e" }), '"endpoints" that is no list'],
    [inPlan({ endpoints: [1] }), '"endpoints" that is no text'],
    [inPlan({ endpoints: Array(257).fill("e") }), "names 257 endpoints"],
    [inPlan({ pools: [] }), '"whole"'],
    [inPlan({ pools: [[]] }), '"pools" that is no mapping'],
    [inPlan({ whole: 1 }), '"whole" that is no whole number from 0 to 0'],
    [inPlan({ unlisted: 1 }), '"unlisted"'],
    [inPlan({ unlisted: -2 }), '"unlisted"'],
    [inPool({ name: 1 }), '"name" that is no text'],
    [inPool({ seed: 2 ** 31 }), '"seed"'],
    [inPool({ members: [1] }), '"members" that is no whole number'],
    [inPool({ members: {} }), '"members" that is no list'],
    [inPool({ models: [{}] }), '"models" that is no text'],
  ];
  for (const [bad, reason] of cases) {
    assertThrows(() => openSnapshot(withHead(bad)), SnapshotRefusal, reason);
  }
});

test("a change of any bit anywhere is found", () => {
  const bytes = small();
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      assertThrows(
        () => openSnapshot(changed),
        SnapshotRefusal,
        "",
        `bit ${bit} of byte ${at}`,
      );
    }
  }
});

test("a file that was cut anywhere is refused", () => {
  const bytes = small();
  for (let length = 0; length < bytes.length; length++) {
    assertThrows(() => openSnapshot(bytes.subarray(0, length)));
  }
});

test("what is written is read, and a snapshot of it is the same", () => {
  const session = fc.record({
    key: fc.record({ a: fc.integer(), b: fc.integer() })
      .map(({ a, b }) => ({ a: a | 0 || 1, b: b | 0 || 1 })),
    endpoint: fc.constantFrom<string | undefined>(
      "e0",
      "e1",
      "http://e2",
      undefined,
    ),
    // In steps of the table's clock, which starts one idle time before.
    idleMs: fc.integer({ min: 0, max: TTL_MS / 100 - 1 })
      .map((ticks) => ticks * 100),
    turns: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    service: fc.tuple(
      fc.nat(2 ** 31 - 1),
      fc.nat(2 ** 31 - 1),
      fc.nat(2 ** 31 - 1),
    ),
  });
  fc.assert(fc.property(
    fc.uniqueArray(session, {
      selector: ({ key }) => `${key.a} ${key.b}`,
      maxLength: 40,
    }),
    fc.constantFrom(8, 64, 4_104, 16_384),
    (given, capacity) => {
      const former = site(capacity);
      for (const { idleMs, ...rest } of given) {
        former.put({ ...rest, lastUseMs: NOW_MS - idleMs });
      }
      const bytes = former.snapshot(NOW_MS);
      const later = laterSite(capacity);
      const { restored } = later.restore(bytes, NOW_MS);
      let kept = 0;
      for (const { key } of given) {
        const before = former.get(key);
        const isKept = before?.endpoint !== undefined;
        assertEquals(later.get(key), isKept ? before : undefined);
        if (isKept) kept++;
      }
      assertEquals(restored, kept);
      assertEquals(later.table.gauges().occupied, kept);
      const again = openSnapshot(later.snapshot(NOW_MS));
      assertEquals(again.count, kept);
    },
  ));
});

test("the checksum does not depend on how the file is cut into pieces", () => {
  const former = site(16_384);
  for (let n = 0; n < 3_000; n++) {
    former.put({ key: keyOf(`k${n}`), endpoint: "e1", lastUseMs: NOW_MS });
  }
  const { count } = openSnapshot(former.snapshot(NOW_MS));
  assertEquals(count, former.table.gauges().occupied);
  assert([...former.writer(NOW_MS).pieces()].length > 5);
});

test("a session without a binding, or with one that is past, is not kept", () => {
  const former = site();
  former.put({ key: keyOf("unbound"), endpoint: undefined, lastUseMs: NOW_MS });
  const past = new SnapshotSite(
    { ...SLOTS, e1: [7, 4] },
    { capacity: 64, startMs: NOW_MS },
  );
  past.put({ key: keyOf("kept"), endpoint: "e0", lastUseMs: NOW_MS });
  const record = past.table.pin(keyOf("past"), NOW_MS);
  past.table.confirm(record, 0, former.bindingOf("e1"));
  past.table.unpin(record, NOW_MS);
  assertEquals(openSnapshot(former.snapshot(NOW_MS)).count, 0);
  assertEquals(openSnapshot(past.snapshot(NOW_MS)).count, 1);
});

test("a session in flight has not been idle at all", () => {
  const former = site();
  const key = keyOf("long");
  const record = former.table.pin(key, NOW_MS);
  former.table.confirm(record, 0, former.bindingOf("e0"));
  const bytes = former.snapshot(NOW_MS + 10 * TTL_MS);
  const later = laterSite();
  assertEquals(later.restore(bytes, NOW_MS + 10 * TTL_MS).restored, 1);
});

test("failures in a row are not kept, the binding is", () => {
  const former = site();
  const key = keyOf("failing");
  former.put({ key, endpoint: "e1", lastUseMs: NOW_MS });
  former.table.noteFailure(former.table.find(key), former.bindingOf("e1"));
  const later = laterSite();
  later.restore(former.snapshot(NOW_MS), NOW_MS);
  assertEquals(later.get(key)?.endpoint, "e1");
});

test("the time between snapshot and start counts", () => {
  const idleMs = 10_000;
  const left = TTL_MS - idleMs;
  const cases: [elapsedMs: number, isRestored: boolean][] = [
    [-1_000_000, true],
    [0, true],
    [left - 1, true],
    [left, false],
    [left + 1, false],
    [100 * TTL_MS, false],
  ];
  for (const [elapsedMs, isRestored] of cases) {
    const former = site();
    const key = keyOf("a");
    former.put({ key, endpoint: "e0", lastUseMs: NOW_MS - idleMs });
    const startMs = NOW_MS + elapsedMs;
    const later = new SnapshotSite(LATER_SLOTS, { capacity: 64, startMs });
    const report = later.restore(former.snapshot(NOW_MS), startMs);
    assertEquals(report, {
      restored: isRestored ? 1 : 0,
      expired: isRestored ? 0 : 1,
      unlisted: 0,
      passedBy: 0,
    });
    // It goes on being as old as it is.
    const record = later.table.pin(key, startMs + left - elapsedMs + 100);
    if (elapsedMs >= 0) assertEquals(later.table.binding(record), 0);
  }
});

test("endpoints that are not listed any more lose their sessions", () => {
  const former = site();
  const endpoints = ["e0", "e1", "http://e2"];
  endpoints.forEach((endpoint, n) =>
    former.put({ key: keyOf(`k${n}`), endpoint, lastUseMs: NOW_MS })
  );
  const later = new SnapshotSite(
    { e1: [0, 1], e3: [1, 1] },
    { capacity: 64, startMs: NOW_MS },
  );
  const report = later.restore(former.snapshot(NOW_MS), NOW_MS);
  assertEquals([report.restored, report.unlisted], [1, 2]);
  assertEquals(later.get(keyOf("k1"))?.endpoint, "e1");
});

test("a smaller table keeps the youngest sessions of each bucket", () => {
  const given: Given[] = Array.from({ length: 24 }, (_, n) => ({
    key: keyOf(`k${n}`),
    endpoint: "e0",
    // Neither ascending nor descending with the hash.
    lastUseMs: NOW_MS - 100 * (n * 7 % 24),
  }));
  const former = site(4_096);
  for (const session of given) former.put(session);
  const later = laterSite(8);
  later.restore(former.snapshot(NOW_MS), NOW_MS);
  const expected = given.toSorted((a, b) => b.lastUseMs - a.lastUseMs)
    .slice(0, 8).map(({ lastUseMs }) => lastUseMs);
  const kept = given.flatMap(({ key }) => later.get(key)?.lastUseMs ?? []);
  assertEquals(kept.toSorted((a, b) => b - a), expected);
});

test("a full table comes back whole, as its buckets are chosen alike", () => {
  const capacity = 1_024;
  const former = site(capacity);
  for (let n = 0; n < 4 * capacity; n++) {
    former.put({ key: keyOf(`k${n}`), endpoint: "e1", lastUseMs: NOW_MS });
  }
  assertEquals(former.table.gauges().occupied, capacity);
  const later = laterSite(capacity);
  const report = later.restore(former.snapshot(NOW_MS), NOW_MS);
  assertEquals(report.restored, capacity);
  assertEquals(later.table.gauges(), {
    ...former.table.gauges(),
    evictions: 0,
  });
});

test("a table that is in use keeps its own buckets", () => {
  const former = site();
  former.put({ key: keyOf("a"), endpoint: "e0", lastUseMs: NOW_MS });
  const later = laterSite();
  later.put({ key: keyOf("b"), endpoint: "e1", lastUseMs: NOW_MS });
  later.restore(former.snapshot(NOW_MS), NOW_MS);
  assertEquals(later.get(keyOf("a"))?.endpoint, "e0");
  assertEquals(later.get(keyOf("b"))?.endpoint, "e1");
});

test("a session that has come back by itself keeps what it has", () => {
  const former = site();
  const key = keyOf("a");
  former.put({ key, endpoint: "e0", lastUseMs: NOW_MS, turns: 9 });
  const later = laterSite();
  later.put({ key, endpoint: "e1", lastUseMs: NOW_MS, turns: 1 });
  const report = later.restore(former.snapshot(NOW_MS), NOW_MS);
  assertEquals([report.restored, report.passedBy], [0, 1]);
  assertEquals(later.get(key)?.endpoint, "e1");
  assertEquals(later.get(key)?.turns, 1);
});

test("a head that would not be read again is not written", () => {
  const former = site();
  const [pool] = former.plan.pools;
  assert(pool !== undefined);
  const models = new Map([["m".repeat(FORMAT.headBytesMax), 0]]);
  const plan = { ...former.plan, models };
  const big = Object.assign(former, { plan });
  assertThrows(() => fileOf(big.writer(NOW_MS)), SnapshotRefusal, "at most");
});
