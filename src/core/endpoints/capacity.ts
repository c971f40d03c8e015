/**
 * The rule by which an endpoint's limit of requests in flight is learned.
 *
 * Additive increase, multiplicative decrease (Chiu and Jain, 1989), one
 * decision a round of answers (`capacity_round.ts`). An engine that queues
 * inside delays *every* answer, while a long prompt delays its own: so a round
 * counts as slow when not even one of its answers was fast, the way BBR takes
 * the smallest round-trip time for that of the empty path. What is fast, the
 * endpoint's own past says (`first_byte_baseline.ts`).
 *
 * A limit begins where it holds nothing back, and falls on evidence. One that
 * began low would have to rise by one a round: with answers of half a minute
 * that takes longer than calls wait, so clients would be refused by a gateway
 * whose engine is at ease.
 *
 * What an engine says of itself is seconds old (3 to 6 s have been seen in
 * steady state, 18 s after a start), so it may lower a limit, stop it from
 * rising and keep it from being cut for what is not its doing, but never raise
 * it: predictions that grow with what is running confirm themselves.
 *
 * Not only queues make all answers slow: prompts that the cache no longer
 * holds do, for good. Cuts do not help against that, and this tells the two
 * apart. Of a queue inside the engine at least half is gone when half of the
 * requests are; when answers are as slow as before, the past is forgotten
 * instead, and the limit stays.
 *
 * Invariant: the limit stays within its bounds, and one decision raises it by
 * one at most.
 *
 * @module
 */

/** Where a learned limit begins, and what it never leaves; in requests. */
export const LEARNED_LIMIT = {
  /** As much as anybody has, until there is evidence that it is too much. */
  initial: 8_192,
  /**
   * Fewer cannot be told from an engine at rest: one round has to hold answers
   * that did not wait for each other. An engine with fewer places than this
   * is better configured.
   */
  min: 8,
  /** Eight ranks behind one address, with the usual 1,024 sequences each. */
  max: 8_192,
  /**
   * No cut begins below this, unless the limit does: in quiet hours a stall
   * would leave a limit that is far too low for the next busy one. Small
   * models on small cards run as many at once.
   */
  cutFrom: 64,
} as const;

/** What a decision does. */
export type CapacityChange = "raised" | "cut" | "held";

/**
 * Why a limit was raised, cut or held.
 *
 * - `limit_reached`: it held requests back, and answers were fast.
 * - `slow_first_byte`: no answer of the round was fast.
 * - `unconfirmed_baseline`: answers have not been as fast as they once were
 *   for a whole window; half the load shows whether the engine or its queue
 *   is the cause.
 * - `cut_in_vain`: no answer of the round was fast, and half of the load has
 *   not changed how slow: what counts as fast is learned anew.
 * - `engine_queue`: the engine says that requests wait inside it.
 * - `no_engine_queue`: no answer of the round was fast, but the engine says
 *   that nothing waits inside it.
 * - `cache_full`: the engine says that its KV cache is nearly full.
 * - `limit_not_reached`: it held nothing back.
 * - `lowest`, `highest`: it would leave its bounds.
 * - `overtaken`: another decision was made meanwhile.
 */
export const CAPACITY_CHANGES = {
  limit_reached: "raised",
  slow_first_byte: "cut",
  unconfirmed_baseline: "cut",
  engine_queue: "cut",
  cut_in_vain: "held",
  no_engine_queue: "held",
  cache_full: "held",
  limit_not_reached: "held",
  lowest: "held",
  highest: "held",
  overtaken: "held",
} as const satisfies Record<string, CapacityChange>;

/** See `CAPACITY_CHANGES`. */
export type CapacityCause = keyof typeof CAPACITY_CHANGES;

/** What is known when a round has ended. */
export interface CapacityFacts {
  /** The limit during the round. */
  readonly limit: number;
  /** Whether any answer was fast. */
  readonly hasFast: boolean;
  /** Whether a request of the round took the last place. */
  readonly isReached: boolean;
  /** Whether more were in flight than the lowest limit allows. */
  readonly isLoaded: boolean;
  /** Whether more were in flight than half of the limit. */
  readonly isHalfFull: boolean;
  /** Whether the baseline is to be confirmed before it is forgotten. */
  readonly isUnconfirmed: boolean;
  /** Whether less load has not made slow answers any faster. */
  readonly isInVain: boolean;
  /** Whether the engine has lately said that nothing waits inside it. */
  readonly isEngineIdle: boolean;
  /** Whether the engine has lately said that its KV cache is nearly full. */
  readonly isCacheFull: boolean;
}

/** The cut on slow answers: few rounds to a quarter, and none too deep. */
const CUT_FACTOR = 0.8;

/**
 * The cut to look at the engine with less load: below its true capacity from
 * wherever answers of twice the baseline let a limit rise to.
 */
const CONFIRM_FACTOR = 0.5;

/**
 * Room above what an engine runs, as a share and as a number at least: the
 * next requests are on their way when it says that it queues, and an engine
 * shows each request as waiting for a moment.
 */
const MARGIN = { share: 1 / 8, min: 4 } as const;

/** The rule itself. */
export const capacityRule = {
  /** What a round means for the limit. */
  judge(facts: CapacityFacts): CapacityCause {
    const { limit } = facts;
    const isLowest = limit <= LEARNED_LIMIT.min;
    if (!facts.hasFast) {
      // With so few in flight, a lower limit would change nothing.
      if (isLowest || !facts.isLoaded) return "lowest";
      if (facts.isEngineIdle) return "no_engine_queue";
      return facts.isInVain ? "cut_in_vain" : "slow_first_byte";
    }
    const isDoubtful = facts.isUnconfirmed && !facts.isEngineIdle;
    if (isDoubtful && facts.isHalfFull && !isLowest) {
      return "unconfirmed_baseline";
    }
    if (!facts.isReached) return "limit_not_reached";
    if (facts.isCacheFull) return "cache_full";
    return limit >= LEARNED_LIMIT.max ? "highest" : "limit_reached";
  },

  /**
   * The limit that follows; the same for causes that hold it.
   *
   * @param inFlight Requests in flight: a limit that far fewer have reached is
   * cut from there, as a share less of it would change nothing.
   */
  limitAfter(cause: CapacityCause, limit: number, inFlight: number): number {
    switch (cause) {
      case "limit_reached":
        return bounded(limit + 1);
      case "slow_first_byte":
        return bounded(cutFrom(limit, inFlight) * CUT_FACTOR);
      case "unconfirmed_baseline":
        return bounded(limit * CONFIRM_FACTOR);
      default:
        return limit;
    }
  },

  /** The highest limit for an engine that queues with so many running. */
  limitQueueing(running: number): number {
    const margin = Math.max(MARGIN.min, running * MARGIN.share);
    return bounded(running + margin);
  },
} as const;

function bounded(limit: number): number {
  const { min, max } = LEARNED_LIMIT;
  return Math.min(Math.max(Math.floor(limit), min), max);
}

function cutFrom(limit: number, inFlight: number): number {
  return Math.min(limit, Math.max(inFlight, LEARNED_LIMIT.cutFrom));
}
