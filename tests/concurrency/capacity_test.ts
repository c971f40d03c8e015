/**
 * Threads that learn one limit at the same time decide each round once.
 *
 * Invariant: as in `tables_test.ts`, counts are exact and no time is measured.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  type CapacityCause,
  LEARNED_LIMIT,
} from "../../src/core/endpoints/capacity.ts";
import { CapacityTable } from "../../src/core/endpoints/capacity_table.ts";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { test } from "../leakproof.ts";
import type { CapacityReport, CapacityTask } from "./capacity_worker.ts";

/** Decisions of a thread; two come past the highest limit together. */
const DECISIONS = 2_000;

/** Where the limit begins: within reach of the highest. */
const START = LEARNED_LIMIT.max - 1_024;

/** Answers that a round takes. */
const ROUND = 16;

async function run(task: CapacityTask): Promise<CapacityReport> {
  const url = new URL("./capacity_worker.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  const { port1, port2 } = new MessageChannel();
  try {
    return await new Promise<CapacityReport>((resolve, reject) => {
      port1.onmessage = ({ data }: MessageEvent<CapacityReport>) =>
        resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(`Cannot learn: ${event.message}`));
      };
      worker.postMessage({ task, port: port2 }, [port2]);
    });
  } finally {
    port1.close();
    worker.terminate();
  }
}

/** Runs the threads; returns the table and what they say they decided. */
async function runAll(threads: { readonly isGauging: boolean }[]) {
  const endpoints = new EndpointTable();
  const capacity = new CapacityTable(endpoints);
  capacity.setLearning(0, true);
  endpoints.setLearned(0, START);
  const task = {
    endpoints: endpoints.buffer,
    capacity: capacity.buffers,
    gate: new SharedArrayBuffer(4),
    threads: threads.length,
    decisions: DECISIONS,
  };
  const reports = await Promise.all(
    threads.map(({ isGauging }) => run({ ...task, isGauging })),
  );
  const reading = capacity.reading(0);
  assert(reading !== undefined);
  // Each decision is one thread's, and counted once.
  for (const [cause, count] of reading.counts) {
    assertEquals(count, sum(reports, cause), cause);
  }
  return { reading, reports };
}

function sum(reports: readonly CapacityReport[], cause: CapacityCause): number {
  return reports.reduce((sum, report) => sum + (report.counts[cause] ?? 0), 0);
}

for (const threads of [2, 4]) {
  test(`${threads} threads that answer at once lose no round and decide none twice`, async () => {
    const { reading, reports } = await runAll(
      Array.from({ length: threads }, () => ({ isGauging: false })),
    );
    const raised = sum(reports, "limit_reached");
    assertEquals(reading.limit, START + raised);
    assertEquals(reading.limit, LEARNED_LIMIT.max);
    assertEquals(sum(reports, "overtaken"), 0);
    const rounds = raised + sum(reports, "highest");
    assertEquals(rounds, threads * DECISIONS);
    // Answers that come while a round is closed are left out, and none is
    // counted twice.
    const answers = reports.reduce((sum, { brought }) => sum + brought, 0);
    assert(rounds * ROUND <= answers, `${rounds} rounds of ${answers}`);
  });
}

test("a limit that is lowered while rounds end stays within its bounds", async () => {
  const { reading, reports } = await runAll([
    { isGauging: false },
    { isGauging: true },
  ]);
  const { min, max } = LEARNED_LIMIT;
  assert(sum(reports, "engine_queue") > 0, "it was never lowered");
  assert(reading.limit >= min && reading.limit <= max, `${reading.limit}`);
  const decided = (["limit_reached", "highest", "overtaken"] as const)
    .reduce((total, cause) => total + sum(reports, cause), 0);
  assertEquals(decided, DECISIONS);
});
