/**
 * Accounts and ends of sessions that several threads share.
 *
 * Every count is exact, so nothing depends on how threads are scheduled.
 *
 * Invariant: as in `tables_test.ts`, no time is measured, and each thread ends
 * by itself.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { KeyHash } from "../../src/core/hash.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { test } from "../leakproof.ts";
import { assertAtRest } from "./at_rest.ts";
import type { EndReport, EndTask } from "./end_worker.ts";
import type { ServiceReport, ServiceTask } from "./service_worker.ts";
import { runThreads } from "./threads.ts";

/** Calls that each thread settles: some 100 ms of them. */
const ROUNDS = 60_000;

function newTable(buckets: number): SessionTable {
  return SessionTable.create({
    capacity: 8 * buckets,
    idleTtlMs: 1_000,
    epochMs: 0,
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

for (const threads of [2, 4]) {
  test(`${threads} threads that settle calls: paths are the longest, service is the sum`, async () => {
    const table = newTable(1);
    const keys: KeyHash[] = [{ a: 1, b: 7 }, { a: 2, b: 7 }];
    const reports = await runThreads<ServiceTask, ServiceReport>(
      "service_worker.ts",
      { threads, sessions: table.buffer, rounds: ROUNDS, keys },
    );
    assertEquals(sum(reports.map(({ losses }) => losses)), 0);
    // A call goes untracked when the thread that renews its session's hold is
    // kept off the processor; that it is rare makes the sums below a test.
    const untracked = sum(reports.map((report) => report.untracked));
    assert(untracked < threads * ROUNDS / 10, `${untracked}: no test`);
    keys.forEach((key, index) => {
      const record = table.find(key);
      const added = reports.flatMap((report) => report.added[index] ?? []);
      assertEquals(added.length, threads);
      assertEquals(
        table.criticalPathMs(record),
        Math.max(...added.map(({ pathMs }) => pathMs)),
      );
      assertEquals(
        table.waitedMs(record),
        Math.max(...added.map(({ waitedMs }) => waitedMs)),
      );
      assertEquals(
        table.attainedMs(record),
        sum(added.map(({ attainedMs }) => attainedMs)),
      );
    });
    assertAtRest(table);
  });

  // One session that all fight for, a bucket that ended records fill, and
  // keys that evict each other, pairs of which share tag A.
  const crowds = [
    { name: "one session", keys: 1, buckets: 1, held: 1 },
    { name: "one bucket", keys: 4, buckets: 1, held: 2 },
    { name: "an overflow", keys: 40, buckets: 2, held: 1 },
  ];
  for (const { name, keys, buckets, held } of crowds) {
    test(`${threads} threads that end sessions of ${name}: none revives, all are freed`, async () => {
      const table = newTable(buckets);
      const reports = await runThreads<EndTask, EndReport>("end_worker.ts", {
        threads,
        sessions: table.buffer,
        rounds: 40_000,
        keys: Array.from({ length: keys }, (_, index) => ({
          a: (index >> 1) * 0x0ccccccd + 1,
          b: 1 + (index & 1),
        })),
        held,
      });
      assertEquals(sum(reports.map(({ doubles }) => doubles)), 0);
      assertEquals(sum(reports.map(({ revived }) => revived)), 0);
      assertEquals(
        sum(reports.map(({ taken, untracked }) => taken + untracked)),
        threads * 40_000,
      );
      const ended = sum(reports.map((report) => report.ended));
      const byKey = sum(reports.map(({ endedByKey }) => endedByKey));
      assert(ended > 1_000 && byKey > 1_000, `${ended}, ${byKey}: no test`);
      assertAtRest(table);
    });
  }
}
