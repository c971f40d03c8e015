/**
 * Learns how many requests each endpoint can have in flight, for all threads
 * together and without locks.
 *
 * Workers report answers, the main thread what engines say of themselves. What
 * is learned is written to the endpoint table at once, where reservations look
 * anyway, so a limit that falls holds from the next reservation on: there is
 * no smoothing through which old capacity is still handed out.
 *
 * The limit counts the gateway's own requests. It is a promise of the past,
 * not a measure of free places: reservations alone say what is free.
 *
 * Invariant: a limit is written by whoever closes a round, or lowered by the
 * main thread, each by an exchange that a configured limit refuses.
 *
 * @module
 */
import {
  CAPACITY_CHANGES,
  type CapacityCause,
  type CapacityChange,
  capacityRule,
  LEARNED_LIMIT,
} from "./capacity.ts";
import {
  CapacityRounds,
  type EndedRound,
  type RoundSample,
} from "./capacity_round.ts";
import { ENDPOINTS_MAX, type EndpointTable } from "./endpoint_table.ts";
import { type AnswerKind, FirstByteBaselines } from "./first_byte_baseline.ts";

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
/** From here: how often each of `CAUSES` was decided. */
const COUNTS = 8;

/** Older readings mean nothing: engines change within seconds. */
const GAUGE_FRESH_MS = 10_000;

/** One reading can catch a request on its way into the engine's batch. */
const WAITING_RUN_MIN = 2;

/** Above this share, engines preempt running requests for want of memory. */
const CACHE_FULL_SHARE = 0.95;

/** One answer; times in milliseconds. */
export interface CapacitySample {
  readonly kind: AnswerKind;
  /**
   * From sending the request to the first byte of the body, or to the head of
   * an answer that is no event stream.
   */
  readonly firstByteMs: number;
  /** Requests in flight once this one was admitted, itself included. */
  readonly inFlightAtStart: number;
  readonly nowMs: number;
}

/** What an engine says of itself; `undefined` where it does not. */
export interface CapacityGauges {
  readonly running: number | undefined;
  readonly waiting: number | undefined;
  /** Share of the KV cache in use, 0 to 1. */
  readonly cacheUsage: number | undefined;
  /** When it said so. */
  readonly nowMs: number;
}

/** What has been learned of an endpoint. */
export interface CapacityReading {
  readonly limit: number;
  /** Uncongested times to first byte; 0 for none yet. */
  readonly streamBaselineMs: number;
  readonly wholeBaselineMs: number;
  /** The last decision; `undefined` before the first. */
  readonly lastCause: CapacityCause | undefined;
  readonly lastChange: CapacityChange | undefined;
  /** How often each cause decided since learning began. */
  readonly counts: ReadonlyMap<CapacityCause, number>;
}

/** A sample on its way into a round; one a thread, written over each time. */
interface Pending extends RoundSample {
  sentAtMs: number;
  isFast: boolean;
  inFlight: number;
  limit: number;
}

/** The buffers that all threads attach to. */
export interface CapacityBuffers {
  readonly rounds: SharedArrayBuffer;
  readonly baselines: SharedArrayBuffer;
  readonly decisions: SharedArrayBuffer;
}

/** One view of what is learned; every thread makes its own. */
export class CapacityTable {
  readonly buffers: CapacityBuffers;
  readonly #endpoints: EndpointTable;
  readonly #rounds: CapacityRounds;
  readonly #baselines: FirstByteBaselines;
  readonly #words: Int32Array;
  readonly #pending: Pending = {
    sentAtMs: 0,
    isFast: false,
    inFlight: 0,
    limit: 0,
  };

  /** Attaches to buffers, or makes new ones; 64 KiB together. */
  constructor(endpoints: EndpointTable, buffers?: CapacityBuffers) {
    this.#endpoints = endpoints;
    this.buffers = buffers ?? {
      rounds: new SharedArrayBuffer(CapacityRounds.BYTES),
      baselines: new SharedArrayBuffer(FirstByteBaselines.BYTES),
      decisions: new SharedArrayBuffer(4 * SLOT_WORDS * ENDPOINTS_MAX),
    };
    this.#rounds = new CapacityRounds(this.buffers.rounds);
    this.#baselines = new FirstByteBaselines(this.buffers.baselines);
    this.#words = new Int32Array(this.buffers.decisions);
  }

  /**
   * Has the endpoint's limit learned, or not; for the main thread.
   *
   * Learning goes on where it is when it is on already. When it is turned off
   * there is no limit. `EndpointTable.setLimit` turns it off too.
   */
  setLearning(slot: number, isOn: boolean): void {
    const isLearned = this.#endpoints.learnedLimit(slot) > 0;
    if (isOn === isLearned) return;
    if (!isOn) return this.#endpoints.setLimit(slot, 0);
    const at = slot * SLOT_WORDS;
    for (let word = 0; word < SLOT_WORDS; word++) {
      Atomics.store(this.#words, at + word, 0);
    }
    this.#baselines.reset(slot);
    this.#rounds.reset(slot);
    this.#endpoints.setLearned(slot, LEARNED_LIMIT.initial);
  }

  /**
   * Learns from an answer; for the thread that got it.
   *
   * MUST be told of successful answers of the model alone: an error or a list
   * of models comes sooner than any answer can. Does nothing for an endpoint
   * whose limit is not learned, and allocates only where a round ends.
   *
   * @returns Why the limit was changed or held, when this answer decided it.
   */
  answered(slot: number, sample: CapacitySample): CapacityCause | undefined {
    const limit = this.#endpoints.learnedLimit(slot);
    const { firstByteMs, nowMs } = sample;
    if (limit === 0 || !(firstByteMs >= 0)) return undefined;
    const pending = this.#pending;
    pending.isFast = this.#baselines.note(slot, sample.kind, firstByteMs);
    pending.sentAtMs = nowMs - firstByteMs;
    pending.inFlight = sample.inFlightAtStart;
    pending.limit = limit;
    const round = this.#rounds.add(slot, pending);
    if (round === undefined) return undefined;
    const cause = this.#close(slot, round, nowMs);
    this.#rounds.open(slot, nowMs);
    return cause;
  }

  /**
   * Takes in what the engine says of itself; for the main thread.
   *
   * @returns `engine_queue` when that has lowered the limit.
   */
  gauged(slot: number, gauges: CapacityGauges): CapacityCause | undefined {
    if (this.#endpoints.learnedLimit(slot) === 0) return undefined;
    const { running, waiting, cacheUsage, nowMs } = gauges;
    const isInRow = this.#isFresh(slot, GAUGED_AT, nowMs);
    this.#storeTime(slot, GAUGED_AT, nowMs);
    if (cacheUsage !== undefined && cacheUsage > CACHE_FULL_SHARE) {
      this.#storeTime(slot, CACHE_FULL_AT, nowMs);
    } else this.#store(slot, CACHE_FULL_AT, 0);
    const former = isInRow ? this.#load(slot, WAITING_RUN) : 0;
    const run = waiting !== undefined && waiting > 0
      ? Math.min(former + 1, WAITING_RUN_MIN)
      : 0;
    this.#store(slot, WAITING_RUN, run);
    if (run < WAITING_RUN_MIN || running === undefined || !(running >= 0)) {
      return undefined;
    }
    if (!this.#lower(slot, capacityRule.limitQueueing(running))) {
      return undefined;
    }
    this.#count(slot, "engine_queue");
    // What was sent under the higher limit is no reason to raise this one.
    this.#rounds.restart(slot, nowMs);
    return "engine_queue";
  }

  /** What has been learned; `undefined` when the limit is not learned. */
  reading(slot: number): CapacityReading | undefined {
    const limit = this.#endpoints.learnedLimit(slot);
    if (limit === 0) return undefined;
    const lastCause = CAUSES[this.#load(slot, LAST_CAUSE) - 1];
    return {
      limit,
      streamBaselineMs: this.#baselines.baselineMs(slot, "stream"),
      wholeBaselineMs: this.#baselines.baselineMs(slot, "whole"),
      lastCause,
      lastChange: lastCause && CAPACITY_CHANGES[lastCause],
      counts: new Map(CAUSES.map((cause, index) => [
        cause,
        this.#load(slot, COUNTS + index) >>> 0,
      ])),
    };
  }

  /** Decides on a round, and acts on it. */
  #close(slot: number, round: EndedRound, nowMs: number): CapacityCause {
    const limit = this.#endpoints.learnedLimit(slot);
    const hasFast = round.fastCount > 0;
    if (hasFast) this.#rounds.learnFast(slot, round);
    this.#baselines.learn(slot);
    const isOver = this.#baselines.isOver(slot, nowMs);
    const isUnconfirmed = isOver && this.#load(slot, CONFIRMING) === 0 &&
      !this.#baselines.isConfirmed(slot);
    const { isReached, isLoaded, isHalfFull } = round;
    let cause = capacityRule.judge({
      limit,
      hasFast,
      isReached,
      isLoaded,
      isHalfFull,
      isUnconfirmed,
      isCacheFull: this.#isFresh(slot, CACHE_FULL_AT, nowMs),
    });
    if (cause === "unconfirmed_baseline") this.#store(slot, CONFIRMING, 1);
    // Slow answers to few requests are as fast as the engine is by now. Slow
    // answers to many say nothing: a limit that is too high must not age what
    // shows that it is.
    else if (hasFast ? isOver : cause === "lowest") {
      this.#baselines.turn(slot, nowMs);
      this.#store(slot, CONFIRMING, 0);
    }
    const next = capacityRule.limitAfter(cause, limit);
    if (next !== limit && !this.#endpoints.exchangeLearned(slot, limit, next)) {
      cause = "overtaken";
    }
    this.#count(slot, cause);
    return cause;
  }

  /** Lowers the limit to `wanted`; false when it is not above it. */
  #lower(slot: number, wanted: number): boolean {
    let limit = this.#endpoints.learnedLimit(slot);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (limit > wanted) {
      if (this.#endpoints.exchangeLearned(slot, limit, wanted)) return true;
      limit = this.#endpoints.learnedLimit(slot);
    }
    return false;
  }

  #count(slot: number, cause: CapacityCause): void {
    const index = CAUSES.indexOf(cause);
    this.#store(slot, LAST_CAUSE, index + 1);
    Atomics.add(this.#words, slot * SLOT_WORDS + COUNTS + index, 1);
  }

  /** Whether a time was kept less than 10 s ago, or just now elsewhere. */
  #isFresh(slot: number, word: number, nowMs: number): boolean {
    const keptAt = this.#load(slot, word);
    return keptAt !== 0 && Math.abs((nowMs - keptAt) | 0) < GAUGE_FRESH_MS;
  }

  /** Keeps a time, which is never 0 then. */
  #storeTime(slot: number, word: number, nowMs: number): void {
    this.#store(slot, word, (nowMs | 0) || 1);
  }

  #store(slot: number, word: number, value: number): void {
    Atomics.store(this.#words, slot * SLOT_WORDS + word, value);
  }

  #load(slot: number, word: number): number {
    return Atomics.load(this.#words, slot * SLOT_WORDS + word);
  }
}
