/**
 * The shapes of programs: what people and agents do, as Autellix measured it
 * (arXiv 2502.13965, workloads of the evaluation).
 *
 * | shape      | calls: mean, most | new tokens | answer tokens | structure                |
 * | ---------- | ----------------- | ---------- | ------------- | ------------------------ |
 * | `sharegpt` | 6.66, 80          | 256        | 277           | one after the other      |
 * | `bfcl`     | 10.75, 70         | 735        | 34            | one after the other      |
 * | `lats`     | 159.7, -          | 467        | 73            | rounds of parallel calls |
 * | `mixed`    | 59.0, -           |            |               | a third of each          |
 *
 * Published are means and maxima alone. What is chosen here:
 *
 * - Lengths are log-normal, as lengths of texts and conversations are: a spread
 *   of 1 for the number of calls, whose maxima are 7 to 12 times the mean, and
 *   0.7 for tokens, cut at 8 times the mean.
 * - A tree search (`lats`) expands 5 children a round on average, 2 to 8, as
 *   its authors sample 5. 31.94 rounds of them make 159.7 calls. A round goes
 *   on from a random call of the former one. After 8 rounds, where a path
 *   ends, it returns to the first round.
 * - Pauses between calls are exponential: 3 s for a person, which is short
 *   since longer pauses only add a constant to every contender, 0.5 s for a
 *   tool, 0.2 s for the environment of a search.
 *
 * Invariant: a shape is data; whoever draws from it brings the randomness.
 *
 * @module
 */
import { Lengths } from "./lengths.ts";

/** A kind of programs. */
export interface Shape {
  readonly name: string;
  /** Rounds of calls; with one call a round these are the calls. */
  readonly rounds: Lengths;
  /** Fewest and most parallel calls of a round, all alike likely. */
  readonly width: readonly [number, number];
  /** Rounds after which a search returns to its first; `Infinity` for never. */
  readonly depth: number;
  /** Tokens of a call's prompt that are new, behind the history. */
  readonly inputTokens: Lengths;
  /** Tokens of a call's answer. */
  readonly answerTokens: Lengths;
  /** Mean pause between two rounds, in milliseconds. */
  readonly pauseMs: number;
}

const CALLS_SPREAD = 1;
const TOKENS_SPREAD = 0.7;
const TOKENS_CUT = 8;

const LATS_WIDTH: readonly [number, number] = [2, 8];
const LATS_WIDTH_MEAN = 5;
const LATS_CALLS_MEAN = 159.7;
/** About 5 times the mean; the paper names no maximum. */
const LATS_ROUNDS_MAX = 150;

const sharegpt: Shape = {
  name: "sharegpt",
  rounds: new Lengths({ mean: 6.66, max: 80, spread: CALLS_SPREAD }),
  width: [1, 1],
  depth: Infinity,
  inputTokens: tokens(256),
  answerTokens: tokens(277),
  pauseMs: 3_000,
};

const bfcl: Shape = {
  name: "bfcl",
  rounds: new Lengths({ mean: 10.75, max: 70, spread: CALLS_SPREAD }),
  width: [1, 1],
  depth: Infinity,
  inputTokens: tokens(735),
  answerTokens: tokens(34),
  pauseMs: 500,
};

const lats: Shape = {
  name: "lats",
  rounds: new Lengths({
    mean: LATS_CALLS_MEAN / LATS_WIDTH_MEAN,
    max: LATS_ROUNDS_MAX,
    spread: CALLS_SPREAD,
  }),
  width: LATS_WIDTH,
  depth: 8,
  inputTokens: tokens(467),
  answerTokens: tokens(73),
  pauseMs: 200,
};

/** Workloads by name: shapes of which each is alike likely. */
export const WORKLOADS: Readonly<Record<string, readonly Shape[]>> = {
  sharegpt: [sharegpt],
  bfcl: [bfcl],
  lats: [lats],
  mixed: [sharegpt, bfcl, lats],
};

/** The shapes of a workload; throws a `TypeError` that lists the known ones. */
export function shapesOf(workload: string): readonly Shape[] {
  const shapes = Object.hasOwn(WORKLOADS, workload)
    ? WORKLOADS[workload]
    : undefined;
  if (shapes !== undefined) return shapes;
  const known = Object.keys(WORKLOADS).join(", ");
  throw new TypeError(`Cannot find workload "${workload}": known are ${known}`);
}

function tokens(mean: number): Lengths {
  return new Lengths({ mean, max: TOKENS_CUT * mean, spread: TOKENS_SPREAD });
}
