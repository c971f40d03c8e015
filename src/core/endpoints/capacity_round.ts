/**
 * Rounds of answers, shared by all threads: how much is seen before a limit
 * may change, and who changes it.
 *
 * Only answers to requests that were sent after the round began count, so a
 * round lasts one round trip at least, and what was sent under a higher limit
 * says nothing against a lower one. A round ends with one fast answer among
 * enough of them. Without a fast one it goes on until that cannot be chance:
 * for as many answers as the limit, of a high one 128, or several times as
 * many as it usually takes to meet a fast one, where prompts differ much.
 *
 * All of a round is one word, so an answer is counted by one exchange, in the
 * round it belongs to or not at all. The thread whose answer is the last one
 * closes the round; meanwhile answers of other threads are left out. Closing
 * is synchronous: a thread that is stopped ends before or after it.
 *
 * Invariant: of all threads exactly one closes a round, and it is the only one
 * that can open the next.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "./endpoint_table.ts";
import { LEARNED_LIMIT } from "./capacity.ts";

/** One cache line a slot. */
const SLOT_WORDS = 16;

/** Words of a slot. */
const ROUND = 0;
/** When the round began, in milliseconds modulo 2^32. */
const BEGAN_AT = 1;
/** Answers that it takes to meet a fast one, in 1/16. */
const FAST_EVERY = 2;

/** Parts of the round's word, lowest first. */
const COUNT_MASK = 0x7ff;
const FAST_SHIFT = 11;
const FAST_MASK = 0x1f;
const REACHED = 1 << 16;
const LOADED = 1 << 17;
const HALF_FULL = 1 << 18;
const CLOSING = 1 << 19;
/** The number of the round; 0 for the first one, without a beginning. */
const NUMBER_SHIFT = 20;
const NUMBER_MAX = 0xfff;

/** Fewer answers could all be to long prompts. */
const SAMPLES_MIN = 16;

/** So many slow answers in a row are no chance, however high the limit. */
const SLOW_SAMPLES = 128;

/** What bounds a round without a fast answer; it fits the count. */
const SAMPLES_MAX = 1_024;

/** With this many times the usual, 1 round in 400 has no fast one by chance. */
const CHANCE_FACTOR = 6;

/** Fixed point of `FAST_EVERY`, and the share that a round has in it. */
const FIXED = 16;
const LEARN_SHARE = 1 / 8;

/**
 * An answer is taken for one from before the round up to this long before. On
 * clocks modulo 2^32 ms one that came weeks later looks the same, and this is
 * the longest that it can keep an endpoint from learning.
 */
const BEFORE_MS_MAX = 3_600_000;

/** What is counted of one answer. */
export interface RoundSample {
  /** When its request was sent. */
  readonly sentAtMs: number;
  readonly isFast: boolean;
  /** Requests in flight once it was admitted, itself included. */
  readonly inFlight: number;
  /** The limit at this time. */
  readonly limit: number;
}

/** A round that has ended, and is being closed. */
export interface EndedRound {
  readonly fastCount: number;
  readonly count: number;
  readonly isReached: boolean;
  readonly isLoaded: boolean;
  readonly isHalfFull: boolean;
}

/** The rounds of all endpoints. */
export class CapacityRounds {
  /** Size of the shared buffer. */
  static readonly BYTES = 4 * SLOT_WORDS * ENDPOINTS_MAX;

  readonly #words: Int32Array;

  /** @param buffer Of `BYTES`, shared by all threads. */
  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** Begins anew; the first round has no beginning, so any answer counts. */
  reset(slot: number): void {
    const at = slot * SLOT_WORDS;
    for (let word = ROUND; word <= FAST_EVERY; word++) {
      Atomics.store(this.#words, at + word, 0);
    }
  }

  /**
   * Counts an answer.
   *
   * @returns The round, when this answer has ended it: the caller MUST then
   * call `open`, in the same synchronous step.
   */
  add(slot: number, sample: RoundSample): EndedRound | undefined {
    const at = slot * SLOT_WORDS + ROUND;
    let seen = Atomics.load(this.#words, at);
    const number = seen >>> NUMBER_SHIFT;
    if (number > 0 && this.#isBefore(slot, sample.sentAtMs)) return undefined;
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (true) {
      if ((seen & CLOSING) !== 0 || seen >>> NUMBER_SHIFT !== number) {
        return undefined;
      }
      const next = withSample(seen, sample);
      const isEnd = this.#isDecided(slot, next, sample.limit);
      const word = isEnd ? next | CLOSING : next;
      const now = Atomics.compareExchange(this.#words, at, seen, word);
      if (now === seen) return isEnd ? endedRound(next) : undefined;
      seen = now;
    }
  }

  /** Opens the next round; for who closes the last one, and nobody else. */
  open(slot: number, nowMs: number): void {
    const at = slot * SLOT_WORDS + ROUND;
    const former = Atomics.load(this.#words, at) >>> NUMBER_SHIFT;
    const number = former === NUMBER_MAX ? 1 : former + 1;
    Atomics.store(this.#words, slot * SLOT_WORDS + BEGAN_AT, nowMs | 0);
    // Before this nobody counts, and from now on all see the beginning.
    Atomics.store(this.#words, at, number << NUMBER_SHIFT);
  }

  /** Gives up the open round and opens the next, unless one is being closed. */
  restart(slot: number, nowMs: number): void {
    const at = slot * SLOT_WORDS + ROUND;
    let seen = Atomics.load(this.#words, at);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while ((seen & CLOSING) === 0) {
      const now = Atomics.compareExchange(
        this.#words,
        at,
        seen,
        seen | CLOSING,
      );
      if (now === seen) return this.open(slot, nowMs);
      seen = now;
    }
  }

  /** Learns how rare fast answers are; for who closes the round. */
  learnFast(slot: number, round: EndedRound): void {
    const at = slot * SLOT_WORDS + FAST_EVERY;
    const known = Math.max(Atomics.load(this.#words, at), FIXED);
    const seen = FIXED * round.count / round.fastCount;
    const learned = known + (seen - known) * LEARN_SHARE;
    Atomics.store(this.#words, at, Math.round(learned));
  }

  #isBefore(slot: number, sentAtMs: number): boolean {
    // A plain read suffices: it was written before the word of the round, and
    // if it is of a later round, the exchange of that word will fail.
    const beganAt = this.#words[slot * SLOT_WORDS + BEGAN_AT] ?? 0;
    const beforeMs = (beganAt - sentAtMs) | 0;
    return beforeMs > 0 && beforeMs < BEFORE_MS_MAX;
  }

  /** Whether a round has seen enough. */
  #isDecided(slot: number, word: number, limit: number): boolean {
    const count = word & COUNT_MASK;
    if (count < SAMPLES_MIN) return false;
    if (((word >>> FAST_SHIFT) & FAST_MASK) > 0) return true;
    const every = Atomics.load(this.#words, slot * SLOT_WORDS + FAST_EVERY);
    const usual = CHANCE_FACTOR * every / FIXED;
    const needed = Math.max(Math.min(limit, SLOW_SAMPLES), usual);
    return count >= Math.min(needed, SAMPLES_MAX);
  }
}

/** The round's word with one answer more. */
function withSample(word: number, sample: RoundSample): number {
  const { inFlight, limit } = sample;
  let next = word + 1;
  const fastCount = (word >>> FAST_SHIFT) & FAST_MASK;
  if (sample.isFast && fastCount < FAST_MASK) next += 1 << FAST_SHIFT;
  if (inFlight >= limit) next |= REACHED;
  if (inFlight > LEARNED_LIMIT.min) next |= LOADED;
  if (2 * inFlight > limit) next |= HALF_FULL;
  return next | 0;
}

function endedRound(word: number): EndedRound {
  return {
    count: word & COUNT_MASK,
    fastCount: (word >>> FAST_SHIFT) & FAST_MASK,
    isReached: (word & REACHED) !== 0,
    isLoaded: (word & LOADED) !== 0,
    isHalfFull: (word & HALF_FULL) !== 0,
  };
}
