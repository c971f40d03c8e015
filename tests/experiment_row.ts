/**
 * A row of the scheduling experiment that nobody has measured.
 *
 * Invariant: only the mean, and half of it as median, differs from row to row
 * of one load and contender.
 *
 * @module
 */
import type { ExperimentRow } from "../src/simulate/experiment.ts";

/** A row of one engine and the mixed workload. */
export function experimentRow(
  contender: string,
  load: number,
  meanMs: number,
): ExperimentRow {
  return {
    workload: "mixed",
    engineCount: 1,
    seed: 1,
    load,
    offered: 10 * load,
    contender,
    figures: {
      programs: 1,
      calls: 1,
      meanMs,
      p50Ms: meanMs / 2,
      p95Ms: meanMs,
      p99Ms: meanMs,
      slowdown: 1,
      fairness: 1,
      programsPerSecond: 1,
      cacheHits: 1,
      longestWaitMs: 0,
      longestQueuedMs: 0,
      spills: 0,
      shed: 0,
    },
  };
}
