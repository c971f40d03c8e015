/**
 * How much engines can do at most: what a load of 1 is.
 *
 * Programs are run in a closed loop: a constant number of them is under way,
 * and as one ends the next begins. Too few leave the batch empty, too many push
 * each other's history out of the prefix cache, so several numbers are tried.
 * A load of 1 is the best rate that first come first served with affinity
 * reaches on one engine, for these very programs, times the engines.
 *
 * Invariant: the rate does not depend on the contender that is measured
 * afterwards, so all of them are given the same arrivals.
 *
 * @module
 */
import { contenderOf } from "./contenders.ts";
import type { EngineModel } from "./engines.ts";
import type { Program } from "./programs.ts";
import { Simulation } from "./simulation.ts";
import type { QueueSettings } from "./virtual_gateway.ts";

/** Programs under way that are tried, in relation to the engine's batch. */
const CLOSED_SHARES = [1 / 4, 3 / 8, 1 / 2, 3 / 4, 1, 3 / 2, 2];

/** A rate that is so much below the best shows that the peak is behind. */
const PAST_PEAK = 0.9;

/** The part of the calls, in order of their end, in which all is steady. */
const STEADY = [0.2, 0.8] as const;

/** What to calibrate for. */
export interface CalibrationOptions {
  readonly programs: readonly Program[];
  readonly model: EngineModel;
  readonly queue: QueueSettings;
  readonly seed: number;
}

/** Programs a second that one engine can serve at most. */
export function saturatingRate(options: CalibrationOptions): number {
  let best = 0;
  for (const share of CLOSED_SHARES) {
    const closedCount = Math.ceil(share * options.model.batchMax);
    const rate = closedRate(options, closedCount);
    // Beyond the peak caches thrash, and do so more with every program.
    if (rate < PAST_PEAK * best) break;
    best = Math.max(best, rate);
  }
  return best;
}

function closedRate(options: CalibrationOptions, closedCount: number): number {
  const endsAtMs: number[] = [];
  new Simulation({
    ...options,
    // What is learned must not decide what is measured by.
    queue: { ...options.queue, inFlightMax: options.model.batchMax },
    contender: contenderOf("fcfs"),
    engineCount: 1,
    closedCount,
    onCall: ({ endedAtMs }) => endsAtMs.push(endedAtMs),
  }).run();
  const [from, to] = STEADY.map((share) =>
    Math.floor(share * (endsAtMs.length - 1))
  );
  const spanMs = (endsAtMs[to ?? 0] ?? 0) - (endsAtMs[from ?? 0] ?? 0);
  const callsPerSecond = 1_000 * ((to ?? 0) - (from ?? 0)) / spanMs;
  return callsPerSecond * options.programs.length / endsAtMs.length;
}
