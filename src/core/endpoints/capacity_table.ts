/**
 * Learns how many requests each endpoint can have in flight, for all threads
 * together and without locks.
 *
 * Workers report answers, the main thread what engines say of themselves. What
 * is learned is written to the endpoint table at once, where reservations look
 * anyway, so a limit that falls holds from the next reservation on: there is
 * no smoothing through which old capacity is still handed out.
 *
 * How soon an event stream begins is evidence for and against a limit. A whole
 * answer is none: it takes as long as its output is. But one that came while
 * the engine said that nothing waits inside shows that a limit which holds
 * others back could be higher.
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
import { type CapacityGauges, CapacityMemory } from "./capacity_memory.ts";
import {
  CapacityRounds,
  type EndedRound,
  type RoundSample,
} from "./capacity_round.ts";
import type { EndpointTable } from "./endpoint_table.ts";
import { FirstByteBaselines } from "./first_byte_baseline.ts";

export type { CapacityGauges } from "./capacity_memory.ts";

/** One answer; times in milliseconds. */
export interface CapacitySample {
  /** An event stream, or an answer that comes as a whole. */
  readonly kind: "stream" | "whole";
  /** Size of the request's body; `undefined` when it is not known. */
  readonly requestBytes: number | undefined;
  /**
   * From sending the request to the first byte of the body, or to the head of
   * an answer that is no event stream.
   */
  readonly firstByteMs: number;
  /** Requests in flight once this one was admitted, itself included. */
  readonly inFlightAtStart: number;
  readonly nowMs: number;
}

/** What has been learned of an endpoint. */
export interface CapacityReading {
  readonly limit: number;
  /**
   * Uncongested times to first byte of streams, in milliseconds, by the size
   * in bytes below which their requests are: `Infinity` for the largest, `NaN`
   * for those of unknown size. What there has been none of is left out.
   */
  readonly baselinesMs: ReadonlyMap<number, number>;
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
  readonly memory: SharedArrayBuffer;
}

/** One view of what is learned; every thread makes its own. */
export class CapacityTable {
  readonly buffers: CapacityBuffers;
  readonly #endpoints: EndpointTable;
  readonly #rounds: CapacityRounds;
  readonly #baselines: FirstByteBaselines;
  readonly #memory: CapacityMemory;
  readonly #pending: Pending = {
    sentAtMs: 0,
    isFast: false,
    inFlight: 0,
    limit: 0,
  };

  /** Attaches to buffers, or makes new ones; 112 KiB together. */
  constructor(endpoints: EndpointTable, buffers?: CapacityBuffers) {
    this.#endpoints = endpoints;
    this.buffers = buffers ?? {
      rounds: new SharedArrayBuffer(CapacityRounds.BYTES),
      baselines: new SharedArrayBuffer(FirstByteBaselines.BYTES),
      memory: new SharedArrayBuffer(CapacityMemory.BYTES),
    };
    this.#rounds = new CapacityRounds(this.buffers.rounds);
    this.#baselines = new FirstByteBaselines(this.buffers.baselines);
    this.#memory = new CapacityMemory(this.buffers.memory);
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
    this.#memory.reset(slot);
    this.#baselines.reset(slot);
    this.#rounds.reset(slot);
    this.#endpoints.setLearned(slot, LEARNED_LIMIT.initial);
  }

  /**
   * Learns from an answer; for the thread that got it.
   *
   * MUST be told of successful answers that a model has generated alone: an
   * error or a list of models comes sooner than any answer can. Does nothing
   * for an endpoint whose limit is not learned, and allocates only where a
   * round ends.
   *
   * @returns Why the limit was changed or held, when this answer decided it.
   */
  answered(slot: number, sample: CapacitySample): CapacityCause | undefined {
    const limit = this.#endpoints.learnedLimit(slot);
    const { firstByteMs, nowMs } = sample;
    if (limit === 0 || !(firstByteMs >= 0)) return undefined;
    if (sample.kind === "whole" && !this.#memory.isIdle(slot, nowMs)) {
      return undefined;
    }
    const pending = this.#pending;
    pending.isFast = sample.kind === "whole" ||
      this.#baselines.note(slot, sample.requestBytes, firstByteMs);
    pending.sentAtMs = nowMs - firstByteMs;
    pending.inFlight = sample.inFlightAtStart;
    pending.limit = limit;
    const round = this.#rounds.add(slot, pending);
    if (round === undefined) return undefined;
    const inFlight = Math.max(
      sample.inFlightAtStart,
      this.#endpoints.inFlight(slot),
    );
    const cause = this.#close(slot, round, { inFlight, nowMs });
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
    const { running, nowMs } = gauges;
    const isQueueing = this.#memory.noteGauges(slot, gauges);
    if (!isQueueing || running === undefined || !(running >= 0)) {
      return undefined;
    }
    if (!this.#lower(slot, capacityRule.limitQueueing(running))) {
      return undefined;
    }
    this.#memory.count(slot, "engine_queue");
    // What was sent under the higher limit is no reason to raise this one.
    this.#rounds.restart(slot, nowMs);
    return "engine_queue";
  }

  /** What has been learned; `undefined` when the limit is not learned. */
  reading(slot: number): CapacityReading | undefined {
    const limit = this.#endpoints.learnedLimit(slot);
    if (limit === 0) return undefined;
    const lastCause = this.#memory.lastCause(slot);
    return {
      limit,
      baselinesMs: this.#baselines.baselines(slot),
      lastCause,
      lastChange: lastCause && CAPACITY_CHANGES[lastCause],
      counts: this.#memory.counts(slot),
    };
  }

  /** Decides on a round, and acts on it. */
  #close(
    slot: number,
    round: EndedRound,
    { inFlight, nowMs }: { readonly inFlight: number; readonly nowMs: number },
  ): CapacityCause {
    const limit = this.#endpoints.learnedLimit(slot);
    const hasFast = round.fastCount > 0;
    if (hasFast) this.#rounds.learnFast(slot, round);
    const isInVain = hasFast
      ? this.#memory.endSlow(slot)
      : this.#memory.noteSlow(slot, {
        load: Math.min(limit, inFlight),
        slowness: this.#baselines.slowness(slot),
      });
    if (isInVain) this.#baselines.learnAnew(slot);
    else this.#baselines.learn(slot);
    const isOver = this.#baselines.isOver(slot, nowMs);
    const isUnconfirmed = isOver && !this.#memory.isConfirming(slot) &&
      !this.#baselines.isConfirmed(slot);
    let cause = capacityRule.judge({
      limit,
      hasFast,
      isReached: round.isReached,
      isLoaded: round.isLoaded,
      isHalfFull: round.isHalfFull,
      isUnconfirmed,
      isInVain,
      isEngineIdle: this.#memory.isIdle(slot, nowMs),
      isCacheFull: this.#memory.isCacheFull(slot, nowMs),
    });
    // Slow answers to few requests are as fast as the engine is by now. Slow
    // answers to many say nothing, unless the engine says that none waits: a
    // limit that is too high must not age what shows that it is.
    if (cause === "unconfirmed_baseline") {
      this.#memory.setConfirming(slot, true);
    } else if (
      cause === "lowest" || isOver && (hasFast || cause === "no_engine_queue")
    ) {
      this.#baselines.turn(slot, nowMs);
      this.#memory.setConfirming(slot, false);
    }
    const next = capacityRule.limitAfter(cause, limit, inFlight);
    if (next !== limit && !this.#endpoints.exchangeLearned(slot, limit, next)) {
      cause = "overtaken";
    }
    this.#memory.count(slot, cause);
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
}
