/**
 * The queue under threads that hammer one board: calls come, leave, die and
 * are served by each other's places.
 *
 * Invariant: as in `tables_test.ts`, counts are exact and no time is measured;
 * a thread that waits in vain ends by itself and says so.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { QueueBoard } from "../../src/core/queue/queue_board.ts";
import { LEVEL_COUNT } from "../../src/core/scheduling_policy.ts";
import { test } from "../leakproof.ts";
import type { QueueReport, QueueTask } from "./queue_worker.ts";
import { runThreads } from "./threads.ts";

/** Endpoints by slot: few places, so that calls wait. */
const LIMITS = [1, 2, 1];

/** Enough for threads to meet within each other's steps. */
const ROUNDS = 60_000;

function sum(
  reports: readonly QueueReport[],
  name: keyof QueueReport,
): number {
  return reports.reduce((total, report) => total + report[name], 0);
}

const RUNS: [what: string, threads: number, deathOneIn: number][] = [
  ["two threads", 2, 0],
  ["four threads", 4, 0],
  ["four threads that die", 4, 400],
];
for (const [what, threads, deathOneIn] of RUNS) {
  test(`${what} on one board: no place is lost or used twice`, async () => {
    const endpoints = new EndpointTable();
    LIMITS.forEach((limit, slot) => {
      endpoints.setState(slot, "ready");
      endpoints.setLimit(slot, limit);
    });
    const board = QueueBoard.create(threads);
    const reports = await runThreads<QueueTask, QueueReport>(
      "queue_worker.ts",
      {
        board: board.buffer,
        endpoints: endpoints.buffer,
        done: new SharedArrayBuffer(4),
        threads,
        rounds: ROUNDS,
        slotCount: LIMITS.length,
        deathOneIn,
      },
    );
    assertEquals(sum(reports, "stuck"), 0, "a call waits for ever");
    assertEquals(sum(reports, "servedWrongly"), 0);
    assertEquals(sum(reports, "overLimit"), 0);
    assertEquals(
      sum(reports, "served") + sum(reports, "left") + sum(reports, "lost"),
      sum(reports, "arrived"),
    );
    assertEquals(LIMITS.map((_, slot) => endpoints.inFlight(slot)), [0, 0, 0]);
    assertEquals(board.waitingCount, 0);
    for (let worker = 0; worker < threads; worker++) {
      assertEquals(board.ownWaiting(worker), 0);
      board.takeGrants(worker, () => assert(false, "a grant is left"));
    }
    for (let level = -1; level < LEVEL_COUNT; level++) {
      assertEquals(board.waitingOn(level), 0);
    }
    LIMITS.forEach((_, slot) => assertEquals(board.best(slot), -1));
    // It is a test only if threads have met.
    assert(board.handOverCount > 1_000, `${board.handOverCount} hand-overs`);
    assert(deathOneIn === 0 || sum(reports, "deaths") > 100);
  });
}
