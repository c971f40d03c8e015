/**
 * What programs cost at best: with an engine to themselves and their history
 * in its cache.
 *
 * Invariant: on one engine no schedule is faster than `idealMs`. Only several
 * engines can be, as parallel calls then are prefilled side by side.
 *
 * @module
 */
import type { EngineModel } from "./engines.ts";
import type { PlannedCall, Program } from "./programs.ts";

/** The shortest time from a program's arrival to its end, in milliseconds. */
export function idealMs(program: Program, model: EngineModel): number {
  let total = 0;
  for (const { pauseMs, calls } of program.rounds) {
    let prefilledMs = 0;
    let roundMs = 0;
    for (const call of calls) {
      prefilledMs += prefillMs(call, model);
      roundMs = Math.max(roundMs, prefilledMs + decodeMs(call, model));
    }
    total += pauseMs + roundMs;
  }
  return total;
}

/** Work of all calls from each round on, in milliseconds of the engine. */
export function remainingMs(
  program: Program,
  model: EngineModel,
): readonly number[] {
  const remaining: number[] = [];
  let sum = 0;
  for (const { calls } of program.rounds.toReversed()) {
    for (const call of calls) {
      sum += prefillMs(call, model) + decodeMs(call, model);
    }
    remaining.push(sum);
  }
  return remaining.toReversed();
}

function prefillMs(call: PlannedCall, model: EngineModel): number {
  return call.inputTokens * model.prefillMsPerToken;
}

/** The first token comes with the prefill. */
function decodeMs(call: PlannedCall, model: EngineModel): number {
  return (call.answerTokens - 1) * model.decodeMsPerToken;
}
