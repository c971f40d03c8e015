/**
 * One thread of the test that learns a limit from all sides.
 *
 * Invariant: it ends by itself, as soon as it has decided often enough.
 *
 * @module
 */
import type { CapacityCause } from "../../src/core/endpoints/capacity.ts";
import {
  type CapacityBuffers,
  CapacityTable,
} from "../../src/core/endpoints/capacity_table.ts";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";

/** What a thread is told to do. */
export interface CapacityTask {
  readonly endpoints: SharedArrayBuffer;
  readonly capacity: CapacityBuffers;
  /** One word that counts threads at the start. */
  readonly gate: SharedArrayBuffer;
  readonly threads: number;
  /** Decisions that the thread makes before it ends. */
  readonly decisions: number;
  /** Whether the thread brings readings of the engine instead of answers. */
  readonly isGauging: boolean;
}

/** What a thread did. */
export interface CapacityReport {
  /** Answers or readings that it brought. */
  readonly brought: number;
  /** How often it decided for each cause. */
  readonly counts: Partial<Record<CapacityCause, number>>;
}

/**
 * After so many a thread gives up deciding. Answers are left out as long as
 * another thread stands still in the middle of a decision; readings decide
 * nothing any more once nobody answers.
 */
const ANSWERS_MAX = 20_000_000;
const READINGS_MAX = 200_000;

addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const { task, port }: { task: CapacityTask; port: MessagePort } = event.data;
  port.postMessage(answerAll(task));
});

function answerAll(task: CapacityTask): CapacityReport {
  const endpoints = new EndpointTable(task.endpoints);
  const capacity = new CapacityTable(endpoints, task.capacity);
  const counts: Partial<Record<CapacityCause, number>> = {};
  const broughtMax = task.isGauging ? READINGS_MAX : ANSWERS_MAX;
  let brought = 0;
  let decided = 0;
  meet(new Int32Array(task.gate), task.threads);
  while (decided < task.decisions && brought < broughtMax) {
    brought++;
    // Sent and answered at one moment, so that each counts in its round.
    const nowMs = 5_000;
    const cause = task.isGauging
      ? capacity.gauged(0, { running: 8, waiting: 1, cacheUsage: 0, nowMs })
      : capacity.answered(0, {
        kind: "stream",
        requestBytes: undefined,
        firstByteMs: 0,
        inFlightAtStart: 10_000,
        nowMs,
      });
    if (cause === undefined) continue;
    decided++;
    counts[cause] = (counts[cause] ?? 0) + 1;
  }
  return { brought, counts };
}

/** Lets all threads begin at once: starting one takes longer than its work. */
function meet(gate: Int32Array, threads: number): void {
  Atomics.add(gate, 0, 1);
  Atomics.notify(gate, 0);
  for (
    let count = Atomics.load(gate, 0);
    count < threads;
    count = Atomics.load(gate, 0)
  ) {
    // 10 s: a thread that has not come up by then never will.
    if (Atomics.wait(gate, 0, count, 10_000) === "timed-out") break;
  }
}
