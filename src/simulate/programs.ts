/**
 * Programs, drawn from shapes: what each will call, in which order, and when
 * it arrives.
 *
 * A program is planned whole before it runs, with everything but time: the
 * plan does not depend on how it is served, so all contenders are given the
 * same work, and an oracle can know what is left of it.
 *
 * Each program has a generator of its own, seeded by its number. Programs are
 * therefore the same at every load, and only their arrivals are scaled.
 *
 * Invariant: the same seed gives the same programs, and a call goes on from a
 * call of an earlier round.
 *
 * @module
 */
import { seededRandom } from "../../bench/engine/seeded.ts";
import { type Shape, shapesOf } from "./shapes.ts";

/** One call. */
export interface PlannedCall {
  /** Tokens of the prompt that are new, behind the history. */
  readonly inputTokens: number;
  /** At least one. */
  readonly answerTokens: number;
}

/** Parallel calls; the next round begins when the last of them has ended. */
export interface PlannedRound {
  /** Milliseconds between the end of the former round and this one. */
  readonly pauseMs: number;
  /** The round and the call in it whose history is gone on from. */
  readonly after: { readonly round: number; readonly call: number } | undefined;
  readonly calls: readonly PlannedCall[];
}

/** One program: a session from its first call to its last. */
export interface Program {
  /** Counted from 0 in the order of arrival. */
  readonly number: number;
  /** Name of its shape. */
  readonly shape: string;
  readonly arrivesAtMs: number;
  readonly rounds: readonly PlannedRound[];
}

/** What to draw. */
export interface WorkloadOptions {
  /** One of `WORKLOADS`. */
  readonly workload: string;
  readonly programCount: number;
  /** Arrivals a second, as a Poisson process; `Infinity` for all at once. */
  readonly programsPerSecond: number;
  readonly seed: number;
}

/** Spreads seeds, so that neighbors give unlike programs. */
const SEED_STRIDE = 7_919;

/** First numbers of a generator still tell its seed: they are not used. */
const WARM_UP_DRAWS = 4;

/** Draws the programs of a workload, in the order of arrival. */
export function drawPrograms(options: WorkloadOptions): readonly Program[] {
  const { workload, programCount, programsPerSecond, seed } = options;
  const shapes = shapesOf(workload);
  const arrivals = warmRandom(seed);
  const programs: Program[] = [];
  let nowMs = 0;
  for (let number = 0; number < programCount; number++) {
    nowMs += exponential(1_000 / programsPerSecond, arrivals);
    const random = warmRandom(seed + (number + 1) * SEED_STRIDE);
    const shape = shapes[Math.floor(random() * shapes.length)];
    if (shape === undefined) throw new RangeError("Cannot draw from no shapes");
    const rounds = drawRounds(shape, random);
    programs.push({ number, shape: shape.name, arrivesAtMs: nowMs, rounds });
  }
  return programs;
}

/** How many calls a program makes. */
export function callCountOf(program: Program): number {
  return program.rounds.reduce((sum, round) => sum + round.calls.length, 0);
}

function drawRounds(shape: Shape, random: () => number): PlannedRound[] {
  const count = shape.rounds.draw(random);
  const [least, most] = shape.width;
  const rounds: PlannedRound[] = [];
  for (let at = 0; at < count; at++) {
    const width = least + Math.floor(random() * (most - least + 1));
    const calls = Array.from({ length: width }, () => ({
      inputTokens: shape.inputTokens.draw(random),
      answerTokens: shape.answerTokens.draw(random),
    }));
    const pauseMs = at === 0 ? 0 : exponential(shape.pauseMs, random);
    const isReturn = at % shape.depth === 0;
    const round = isReturn ? 0 : at - 1;
    const siblings = rounds[round]?.calls.length ?? 0;
    const call = Math.floor(random() * siblings);
    const after = at === 0 ? undefined : { round, call };
    rounds.push({ pauseMs, after, calls });
  }
  return rounds;
}

function exponential(mean: number, random: () => number): number {
  return mean === 0 ? 0 : -mean * Math.log(1 - random());
}

function warmRandom(seed: number): () => number {
  const random = seededRandom(seed);
  for (let draw = 0; draw < WARM_UP_DRAWS; draw++) random();
  return random;
}
