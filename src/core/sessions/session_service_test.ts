/**
 * What calls add to their session: pinned numbers, limits, then a plain model.
 *
 * Invariant: time is an argument, so nothing here waits. Threads are tested in
 * `tests/concurrency`.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { packBinding } from "./binding.ts";
import type { KeyHash } from "../hash.ts";
import { SERVICE_MS_MAX } from "./session_service.ts";
import { SessionTable } from "./session_table.ts";

const TTL_MS = 1_000;
const KEY: KeyHash = { a: 1, b: 2 };

function newTable(): SessionTable {
  return SessionTable.create({ capacity: 8, idleTtlMs: TTL_MS, epochMs: 0 });
}

/** Critical path, attained service and wait of a record. */
function accountOf(
  table: SessionTable,
  record: number,
): [pathMs: number, attainedMs: number, waitedMs: number] {
  return [
    table.criticalPathMs(record),
    table.attainedMs(record),
    table.waitedMs(record),
  ];
}

/** Adds calls given as inherited path, inherited wait, service and wait. */
function serve(
  table: SessionTable,
  record: number,
  calls: readonly (readonly [number, number, number, number])[],
): void {
  for (const [inheritedMs, inheritedWaitMs, serviceMs, waitMs] of calls) {
    table.addService(record, {
      inheritedMs,
      inheritedWaitMs,
      serviceMs,
      waitMs,
    });
  }
}

test("addService() counts nothing for what is no time", () => {
  for (const bad of [NaN, -1, -Infinity, 0, -0, 0.49]) {
    const table = newTable();
    const record = table.pin(KEY, 0);
    serve(table, record, [[bad, bad, bad, bad]]);
    assertEquals(accountOf(table, record), [0, 0, 0], `${bad}`);
    serve(table, record, [[5, 5, bad, bad]]);
    assertEquals(accountOf(table, record), [5, 0, 5], `${bad}`);
    serve(table, record, [[bad, bad, 7, 7]]);
    assertEquals(accountOf(table, record), [7, 7, 7], `${bad}`);
  }
});

test("addService() rounds to whole milliseconds", () => {
  const cases = [[0.5, 1], [1.49, 1], [1.5, 2]] as const;
  for (const [given, expected] of cases) {
    const table = newTable();
    const record = table.pin(KEY, 0);
    serve(table, record, [[0, 0, given, given]]);
    assertEquals(accountOf(table, record), [expected, expected, expected]);
  }
});

test("addService() follows a session of one thread", () => {
  const table = newTable();
  const record = table.pin(KEY, 0);
  serve(table, record, [[0, 0, 5_000, 2_000]]);
  assertEquals(accountOf(table, record), [5_000, 5_000, 2_000]);
  serve(table, record, [[5_000, 2_000, 3_000, 1_000]]);
  assertEquals(accountOf(table, record), [8_000, 8_000, 3_000]);
});

test("parallel calls take the longest path, whichever is settled first", () => {
  const calls = [
    [5_000, 2_000, 1_000, 400],
    [5_000, 2_000, 4_000, 100],
    [5_000, 2_000, 3_000, 900],
  ] as const;
  for (const order of [calls, calls.toReversed()]) {
    const table = newTable();
    const record = table.pin(KEY, 0);
    serve(table, record, [[0, 0, 5_000, 2_000]]);
    serve(table, record, order);
    assertEquals(accountOf(table, record), [9_000, 13_000, 2_900]);
  }
});

test("AIBrix fault 11: ten parallel calls do not sum their waits", () => {
  const table = newTable();
  const record = table.pin(KEY, 0);
  serve(table, record, Array.from({ length: 10 }, () => [0, 0, 1_000, 1_000]));
  assertEquals(accountOf(table, record), [1_000, 10_000, 1_000]);
});

test("AIBrix fault 10: a call that failed adds no service", () => {
  const table = newTable();
  const record = table.pin(KEY, 0);
  serve(table, record, [[0, 0, 5_000, 0], [5_000, 0, 0, 700]]);
  assertEquals(accountOf(table, record), [5_000, 5_000, 700]);
});

test("sums stay at what a word holds", () => {
  const max = SERVICE_MS_MAX;
  const cases: [call: [number, number, number, number], path: number][] = [
    [[max - 2, max - 2, 1, 1], max - 1],
    [[max - 1, max - 1, 1, 1], max],
    [[max, max, 1, 1], max],
    [[max, max, max, max], max],
    [[2 ** 31, 2 ** 31, 0, 0], max],
    [[2 ** 32 + 5, 2 ** 32 + 5, 0, 0], max],
    [[Infinity, Infinity, Infinity, Infinity], max],
  ];
  for (const [call, path] of cases) {
    const table = newTable();
    const record = table.pin(KEY, 0);
    serve(table, record, [call]);
    assertEquals(table.criticalPathMs(record), path, `${call}`);
    assertEquals(table.waitedMs(record), path, `${call}`);
  }
  const table = newTable();
  const record = table.pin(KEY, 0);
  const attained: number[] = [];
  for (const serviceMs of [max - 1, 1, 1, max, Infinity]) {
    serve(table, record, [[0, 0, serviceMs, 0]]);
    attained.push(table.attainedMs(record));
  }
  assertEquals(attained, [max - 1, max, max, max, max]);
});

test("an account ends with its session: renewed, evicted, swept, cleared", () => {
  const ways: Record<string, (table: SessionTable) => void> = {
    renewed: () => {},
    evicted: (table) => {
      for (let a = 2; a < 10; a++) table.unpin(table.pin({ a, b: 2 }, 100), 0);
    },
    swept: (table) =>
      table.sweep({ from: 0, count: 8, nowMs: TTL_MS }, () => {}),
    cleared: (table) => table.clear(),
  };
  for (const [name, way] of Object.entries(ways)) {
    const table = newTable();
    const record = table.pin(KEY, 0);
    serve(table, record, [[0, 0, 5_000, 2_000]]);
    table.unpin(record, 0);
    way(table);
    // Only a session that is to be renewed is found expired below.
    if (name !== "renewed") table.setIdleTtl(2 * TTL_MS);
    const again = table.pin(KEY, TTL_MS);
    assertEquals(accountOf(table, again), [0, 0, 0], name);
  }
});

test("an account outlives the last call until the idle time is over", () => {
  const table = newTable();
  const record = table.pin(KEY, 0);
  serve(table, record, [[0, 0, 5_000, 2_000]]);
  table.unpin(record, 0);
  const again = table.pin(KEY, TTL_MS - 100);
  assertEquals(accountOf(table, again), [5_000, 5_000, 2_000]);
});

test("AIBrix fault 9: a session with a call queued or running is not swept", () => {
  const table = newTable();
  const record = table.pin(KEY, 0);
  table.confirm(record, 0, packBinding(3, 1));
  serve(table, record, [[0, 0, 5_000, 2_000]]);
  for (let nowMs = 0; nowMs <= 100 * TTL_MS; nowMs += TTL_MS) {
    const { expired } = table.sweep({ from: 0, count: 8, nowMs }, () => {});
    assertEquals(expired, 0);
  }
  assertEquals(table.pin(KEY, 100 * TTL_MS), record);
  assertEquals(accountOf(table, record), [5_000, 5_000, 2_000]);
  assertEquals(table.binding(record), packBinding(3, 1));
});

test("sweep() shows accounts, the age of the last use and the hash", () => {
  const table = newTable();
  const record = table.pin({ a: -5, b: 7 }, 250);
  table.addTurn(record);
  serve(table, record, [[10, 20, 5, 2]]);
  const ages: number[] = [];
  for (const nowMs of [100, 200, 950]) {
    table.sweep({ from: 0, count: 8, nowMs }, (view) => {
      ages.push(view.lastUseAgeMs);
      const { lastUseAgeMs: _age, ...rest } = view;
      assertEquals(rest, {
        record,
        a: -5,
        b: 7,
        bound: 0,
        pins: 1,
        turns: 1,
        lastUseMs: 200,
        criticalPathMs: 15,
        attainedMs: 5,
        waitedMs: 22,
      });
    });
  }
  assertEquals(ages, [0, 0, 750]);
});

const anyMs = fc.oneof(
  fc.nat(10_000),
  fc.integer({ min: -5, max: SERVICE_MS_MAX }),
  fc.double(),
);

/** What the header of `session_service.ts` says, in numbers without limit. */
function modelMs(ms: number): number {
  if (Number.isNaN(ms) || ms <= 0) return 0;
  return Math.min(SERVICE_MS_MAX, Math.round(ms));
}

test("any calls give what a plain model gives, and nothing ever falls", () => {
  const call = fc.tuple(anyMs, anyMs, anyMs, anyMs);
  fc.assert(
    fc.property(fc.array(call, { maxLength: 30 }), (calls) => {
      const table = newTable();
      const record = table.pin(KEY, 0);
      let [path, attained, waited] = [0, 0, 0];
      for (const one of calls) {
        serve(table, record, [one]);
        const [inherited, inheritedWait, service, wait] = one;
        path = Math.max(path, modelMs(inherited) + modelMs(service));
        waited = Math.max(waited, modelMs(inheritedWait) + modelMs(wait));
        attained += modelMs(service);
        assertEquals(
          accountOf(table, record),
          [path, attained, waited].map(modelMs),
        );
      }
    }),
  );
});

test("the order in which parallel calls are settled does not matter", () => {
  const call = fc.tuple(anyMs, anyMs, anyMs, anyMs);
  fc.assert(
    fc.property(
      fc.array(call, { maxLength: 8 }).chain((calls) =>
        fc.tuple(
          fc.constant(calls),
          fc.shuffledSubarray(calls, { minLength: calls.length }),
        )
      ),
      (orders) => {
        const [one, other] = orders.map((calls) => {
          const table = newTable();
          const record = table.pin(KEY, 0);
          serve(table, record, calls);
          return accountOf(table, record);
        });
        assertEquals(one, other);
      },
    ),
  );
});
