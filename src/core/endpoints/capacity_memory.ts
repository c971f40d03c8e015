/**
 * What is remembered from one decision on a limit to the next, shared by all
 * threads: what engines have said of themselves, whether answers are slow in a
 * row, and what was decided.
 *
 * Invariant: the words of a row are written by whoever closes a round, what
 * engines say by the main thread, so that each has one writer at a time.
 *
 * @module
 */
import { CAPACITY_CHANGES, type CapacityCause } from "./capacity.ts";
import { ENDPOINTS_MAX } from "./endpoint_table.ts";

const CAUSES = Object.keys(CAPACITY_CHANGES) as readonly CapacityCause[];

/** Two cache lines a slot; none is touched by an answer that ends no round. */
const SLOT_WORDS = 32;

/** Words of a slot. The last decision is an index of `CAUSES` plus 1, or 0. */
const LAST_CAUSE = 0;
/** 1 while the limit is halved to look at the engine with less load. */
const CONFIRMING = 1;
/** When the engine was last asked, in milliseconds modulo 2^32. */
const GAUGED_AT = 2;
/** Readings in a row by which requests wait in the engine. */
const WAITING_RUN = 3;
/** When the cache was last nearly full: as `GAUGED_AT`, or 0 for not. */
const CACHE_FULL_AT = 4;
/** When the engine last said that it is at ease: as `CACHE_FULL_AT`. */
const IDLE_AT = 5;
/** The load of the first in a row of slow rounds, or 0 outside of one. */
const SLOW_FROM = 6;
/** How slow its rounds were at most, in 1/256 of the baseline. */
const SLOWNESS = 7;
/** From here: how often each of `CAUSES` was decided. */
const COUNTS = 8;

/** Older readings mean nothing: engines change within seconds. */
const GAUGE_FRESH_MS = 10_000;

/** One reading can catch a request on its way into the engine's batch. */
const WAITING_RUN_MIN = 2;

/** Above this share, engines preempt running requests for want of memory. */
const CACHE_FULL_SHARE = 0.95;

/**
 * A queue that less load has shortened leaves at most two thirds of what made
 * answers slow when the load is halved. What leaves more is none.
 */
const IN_VAIN_SHARE = 0.75;
const LESS_LOAD = 1 / 2;

/** Fixed point of `SLOWNESS`, and the most that is kept of it. */
const SLOWNESS_FIXED = 256;
const SLOWNESS_MAX = 2 ** 20;

/** What an engine says of itself; `undefined` where it does not. */
export interface CapacityGauges {
  readonly running: number | undefined;
  readonly waiting: number | undefined;
  /** Share of the KV cache in use, 0 to 1. */
  readonly cacheUsage: number | undefined;
  /** When it said so. */
  readonly nowMs: number;
}

/** A round without a fast answer. */
export interface SlowRound {
  /** Requests in flight, no more than the limit allowed. */
  readonly load: number;
  /** How many times the baseline answers took; 0 when that is unknown. */
  readonly slowness: number;
}

/** The memory of all endpoints. */
export class CapacityMemory {
  /** Size of the shared buffer. */
  static readonly BYTES = 4 * SLOT_WORDS * ENDPOINTS_MAX;

  readonly #words: Int32Array;

  /** @param buffer Of `BYTES`, shared by all threads. */
  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** Forgets everything about the slot's endpoint. */
  reset(slot: number): void {
    for (let word = 0; word < SLOT_WORDS; word++) this.#store(slot, word, 0);
  }

  /** Keeps what an engine says; returns whether it queues, beyond doubt. */
  noteGauges(slot: number, gauges: CapacityGauges): boolean {
    const { cacheUsage, nowMs, waiting } = gauges;
    const isInRow = this.#isFresh(slot, GAUGED_AT, nowMs);
    this.#storeTime(slot, GAUGED_AT, nowMs);
    const isFull = cacheUsage !== undefined && cacheUsage > CACHE_FULL_SHARE;
    this.#storeTime(slot, CACHE_FULL_AT, isFull ? nowMs : undefined);
    const isIdle = waiting === 0 && !isFull;
    this.#storeTime(slot, IDLE_AT, isIdle ? nowMs : undefined);
    const former = isInRow ? this.#load(slot, WAITING_RUN) : 0;
    const run = waiting !== undefined && waiting > 0
      ? Math.min(former + 1, WAITING_RUN_MIN)
      : 0;
    this.#store(slot, WAITING_RUN, run);
    return run === WAITING_RUN_MIN;
  }

  /** Whether the engine has lately said that nothing waits inside it. */
  isIdle(slot: number, nowMs: number): boolean {
    return this.#isFresh(slot, IDLE_AT, nowMs);
  }

  /** Whether the engine has lately said that its KV cache is nearly full. */
  isCacheFull(slot: number, nowMs: number): boolean {
    return this.#isFresh(slot, CACHE_FULL_AT, nowMs);
  }

  /**
   * Takes in a slow round; returns whether it is as slow as those of its row
   * that had at least twice the load.
   */
  noteSlow(slot: number, round: SlowRound): boolean {
    const from = this.#load(slot, SLOW_FROM);
    const known = this.#load(slot, SLOWNESS);
    const slowness = Math.min(
      Math.round(SLOWNESS_FIXED * round.slowness),
      SLOWNESS_MAX,
    );
    if (from > 0 && round.load > LESS_LOAD * from) {
      // A queue that is still growing has not shown yet how slow it makes.
      if (slowness > known) this.#store(slot, SLOWNESS, slowness);
      return false;
    }
    const isInVain = from > 0 && slowness > IN_VAIN_SHARE * known;
    this.#store(slot, SLOW_FROM, isInVain ? 0 : round.load);
    this.#store(slot, SLOWNESS, slowness);
    return isInVain;
  }

  /** Ends a row of slow rounds; false, as nothing is in vain then. */
  endSlow(slot: number): false {
    this.#store(slot, SLOW_FROM, 0);
    return false;
  }

  /** Whether the limit is halved to look at the engine with less load. */
  isConfirming(slot: number): boolean {
    return this.#load(slot, CONFIRMING) === 1;
  }

  setConfirming(slot: number, isOn: boolean): void {
    this.#store(slot, CONFIRMING, isOn ? 1 : 0);
  }

  /** Counts a decision, as the last one. */
  count(slot: number, cause: CapacityCause): void {
    const index = CAUSES.indexOf(cause);
    this.#store(slot, LAST_CAUSE, index + 1);
    Atomics.add(this.#words, slot * SLOT_WORDS + COUNTS + index, 1);
  }

  /** The last decision; `undefined` before the first. */
  lastCause(slot: number): CapacityCause | undefined {
    return CAUSES[this.#load(slot, LAST_CAUSE) - 1];
  }

  /** How often each cause decided. */
  counts(slot: number): ReadonlyMap<CapacityCause, number> {
    return new Map(CAUSES.map((cause, index) => [
      cause,
      this.#load(slot, COUNTS + index) >>> 0,
    ]));
  }

  /** Whether a time was kept less than 10 s ago, or just now elsewhere. */
  #isFresh(slot: number, word: number, nowMs: number): boolean {
    const keptAt = this.#load(slot, word);
    return keptAt !== 0 && Math.abs((nowMs - keptAt) | 0) < GAUGE_FRESH_MS;
  }

  /** Keeps a time, which is never 0 then, or that there is none. */
  #storeTime(slot: number, word: number, atMs: number | undefined): void {
    this.#store(slot, word, atMs === undefined ? 0 : (atMs | 0) || 1);
  }

  #store(slot: number, word: number, value: number): void {
    Atomics.store(this.#words, slot * SLOT_WORDS + word, value);
  }

  #load(slot: number, word: number): number {
    return Atomics.load(this.#words, slot * SLOT_WORDS + word);
  }
}
