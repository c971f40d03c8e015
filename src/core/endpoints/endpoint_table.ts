/**
 * What all worker threads must agree on about endpoints, in one
 * SharedArrayBuffer: state, requests in flight and their limit, and what
 * traffic has shown of their health.
 *
 * Slots are given out by the main thread alone (`EndpointSlots`), and every
 * other word may be read and written by any thread. A reservation is one
 * compare-exchange below the limit, made in the same synchronous step that
 * chooses the endpoint, so a burst cannot all see the same idle endpoint.
 *
 * Points in time are whole seconds of the clock: milliseconds since the Unix
 * epoch do not fit a word, and no decision on health needs them.
 *
 * Invariant: a slot is given to another endpoint only when nothing is in
 * flight on it, and with a new generation. A request may therefore give back
 * its reservation by slot alone. The number of ready slots is never counted
 * too high, so that of two threads only one can take away the last but one.
 *
 * @module
 */
import { ENDPOINT_STATES, type EndpointState } from "../endpoint.ts";
import { FAILURE_KINDS, type FailureKind } from "./failure_kind.ts";

/**
 * Endpoints of one gateway. 256 fit the 8 bits of a binding, and are more than
 * ranking endpoint by endpoint is meant for.
 */
export const ENDPOINTS_MAX = 256;

/** One cache line a slot: threads that count on neighbors do not collide. */
const SLOT_WORDS = 16;

/** Words of a slot. State is its index in `ENDPOINT_STATES` plus 1, or 0. */
const STATE = 0;
const GENERATION = 1;
const IN_FLIGHT = 2;
const LIMIT = 3;
/** Failures in a row that traffic has met, and the most before ejection. */
const FAILURES = 4;
const FAILURES_MAX = 5;
/** The last of them: its index in `FAILURE_KINDS` plus 1, or 0. */
const LAST_FAILURE = 6;
/** Second of the last answer plus 1, or 0: a virtual clock starts at 0. */
const ANSWERED = 7;
/** Second of the last ejection by traffic plus 1, or 0. */
const EJECTED_AT = 8;
/** Second up to which the engine has asked to be left alone, or 0. */
const BUSY_UNTIL = 9;

/** The one word behind all slots: how many are ready. */
const READY_COUNT = SLOT_WORDS * ENDPOINTS_MAX;

const READY = ENDPOINT_STATES.indexOf("ready") + 1;
const EJECTED = ENDPOINT_STATES.indexOf("ejected") + 1;

/**
 * Marks a limit as learned, and the number beside the mark. Whoever learns
 * exchanges marked words only, so a limit that has been configured meanwhile
 * is never written over.
 */
const LEARNED = 1 << 30;
const LIMIT_MASK = LEARNED - 1;

/** Failures in a row are counted up to here: no limit is higher. */
const FAILURES_COUNTED_MAX = 1_000_000;

const MS_PER_S = 1_000;

/** Generations are kept in the 16 bits that a binding has for them. */
const GENERATION_MASK = 0xffff;

/** One view of the table; every thread makes its own over the same buffer. */
export class EndpointTable {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  /** Attaches to a buffer, or makes a new one with all slots empty. */
  constructor(buffer?: SharedArrayBuffer) {
    this.buffer = buffer ??
      new SharedArrayBuffer(4 * (READY_COUNT + SLOT_WORDS));
    this.#words = new Int32Array(this.buffer);
  }

  /** The state of the endpoint in a slot; `undefined` for an empty slot. */
  state(slot: number): EndpointState | undefined {
    return ENDPOINT_STATES[this.#load(slot, STATE) - 1];
  }

  /** Sets the state; `undefined` empties the slot. */
  setState(slot: number, state: EndpointState | undefined): void {
    const word = state === undefined ? 0 : ENDPOINT_STATES.indexOf(state) + 1;
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (true) {
      const seen = this.#load(slot, STATE);
      if (seen === word) return;
      if (seen === READY) Atomics.sub(this.#words, READY_COUNT, 1);
      if (this.#exchangeState(slot, seen, word)) return;
    }
  }

  /**
   * Ejects a ready endpoint, unless no other would be left.
   *
   * @returns `kept` for the last one, `not_ready` when there was nothing to do.
   */
  tryEject(slot: number, nowMs: number): "ejected" | "kept" | "not_ready" {
    if (this.#load(slot, STATE) !== READY) return "not_ready";
    let count = Atomics.load(this.#words, READY_COUNT);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (true) {
      if (count <= 1) return "kept";
      const seen = Atomics.compareExchange(
        this.#words,
        READY_COUNT,
        count,
        count - 1,
      );
      if (seen === count) break;
      count = seen;
    }
    // Before the state, so that whoever sees that finds this.
    const second = Math.floor(nowMs / MS_PER_S) + 1;
    Atomics.store(this.#words, slot * SLOT_WORDS + EJECTED_AT, second);
    return this.#exchangeState(slot, READY, EJECTED) ? "ejected" : "not_ready";
  }

  /** Whether the slot holds the endpoint of `generation`, and it takes work. */
  isEligible(slot: number, generation: number): boolean {
    return this.#load(slot, STATE) === READY &&
      this.#load(slot, GENERATION) === generation;
  }

  /** How often the slot has been given out, modulo 2^16. */
  generation(slot: number): number {
    return this.#load(slot, GENERATION);
  }

  /** Gives the slot a new generation, with nothing else; returns it. */
  renew(slot: number): number {
    const generation = (this.generation(slot) + 1) & GENERATION_MASK;
    for (let word = LIMIT; word <= BUSY_UNTIL; word++) {
      Atomics.store(this.#words, slot * SLOT_WORDS + word, 0);
    }
    Atomics.store(this.#words, slot * SLOT_WORDS + GENERATION, generation);
    return generation;
  }

  /** Requests in flight on the slot's endpoint, over all threads. */
  inFlight(slot: number): number {
    return this.#load(slot, IN_FLIGHT);
  }

  /** Most requests in flight at once; 0 for no limit. */
  limit(slot: number): number {
    return this.#load(slot, LIMIT) & LIMIT_MASK;
  }

  /** Sets the limit; one below what is in flight only stops new requests. */
  setLimit(slot: number, limit: number): void {
    Atomics.store(this.#words, slot * SLOT_WORDS + LIMIT, limit);
  }

  /** The limit if it is learned, else 0; `setLimit` ends the learning. */
  learnedLimit(slot: number): number {
    const word = this.#load(slot, LIMIT);
    return (word & LEARNED) === 0 ? 0 : word & LIMIT_MASK;
  }

  /** Changes a learned limit, if it is still `from`; false if it is not. */
  exchangeLearned(slot: number, from: number, to: number): boolean {
    const at = slot * SLOT_WORDS + LIMIT;
    const seen = from | LEARNED;
    return Atomics.compareExchange(this.#words, at, seen, to | LEARNED) ===
      seen;
  }

  /** Makes the limit a learned one that begins with `limit`, 1 and up. */
  setLearned(slot: number, limit: number): void {
    this.setLimit(slot, limit | LEARNED);
  }

  /** Takes one of the slot's places; false when it is at its limit. */
  tryReserve(slot: number): boolean {
    const at = slot * SLOT_WORDS + IN_FLIGHT;
    let count = Atomics.load(this.#words, at);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (true) {
      const limit = this.#load(slot, LIMIT) & LIMIT_MASK;
      if (limit > 0 && count >= limit) return false;
      const seen = Atomics.compareExchange(this.#words, at, count, count + 1);
      if (seen === count) return true;
      count = seen;
    }
  }

  /** Gives back one place; never below none. */
  release(slot: number): void {
    const at = slot * SLOT_WORDS + IN_FLIGHT;
    let count = Atomics.load(this.#words, at);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (count > 0) {
      const seen = Atomics.compareExchange(this.#words, at, count, count - 1);
      if (seen === count) return;
      count = seen;
    }
  }

  /** Failures in a row, over all threads. */
  failures(slot: number): number {
    return this.#load(slot, FAILURES);
  }

  /** The kind of the last failure, if there was one and it has a kind. */
  lastFailure(slot: number): FailureKind | undefined {
    return FAILURE_KINDS[this.#load(slot, LAST_FAILURE) - 1];
  }

  /** Failures in a row at which an endpoint is ejected; 0 for never. */
  failuresMax(slot: number): number {
    return this.#load(slot, FAILURES_MAX);
  }

  /** Sets how many failures in a row eject the endpoint; 0 for none. */
  setFailuresMax(slot: number, failuresMax: number): void {
    Atomics.store(this.#words, slot * SLOT_WORDS + FAILURES_MAX, failuresMax);
  }

  /** Counts one failure more; returns how many in a row that makes. */
  addFailure(slot: number, kind: FailureKind | undefined): number {
    const word = kind === undefined ? 0 : FAILURE_KINDS.indexOf(kind) + 1;
    Atomics.store(this.#words, slot * SLOT_WORDS + LAST_FAILURE, word);
    const known = this.#load(slot, FAILURES);
    if (known >= FAILURES_COUNTED_MAX) return known;
    return Atomics.add(this.#words, slot * SLOT_WORDS + FAILURES, 1) + 1;
  }

  /** Ends the row of failures. */
  clearFailures(slot: number): void {
    // Nearly always there are none: a read leaves the cache line shared.
    if (this.#load(slot, FAILURES) === 0) return;
    Atomics.store(this.#words, slot * SLOT_WORDS + FAILURES, 0);
  }

  /** Notes that the endpoint has answered a request. */
  noteAnswer(slot: number, nowMs: number): void {
    const second = Math.floor(nowMs / MS_PER_S) + 1;
    if (this.#second(slot, ANSWERED) === second) return;
    Atomics.store(this.#words, slot * SLOT_WORDS + ANSWERED, second);
  }

  /** When the endpoint last answered a request; `undefined` for never. */
  answeredAtMs(slot: number): number | undefined {
    return this.#time(slot, ANSWERED);
  }

  /** When traffic last ejected the endpoint; `undefined` for never. */
  ejectedAtMs(slot: number): number | undefined {
    return this.#time(slot, EJECTED_AT);
  }

  /** Has the endpoint count as full until then, rounded up to a second. */
  setBusyUntil(slot: number, untilMs: number): void {
    const second = Math.ceil(untilMs / MS_PER_S);
    Atomics.store(this.#words, slot * SLOT_WORDS + BUSY_UNTIL, second);
  }

  /** Whether the engine has asked to be left alone for now. */
  isBusy(slot: number, nowMs: number): boolean {
    return this.#second(slot, BUSY_UNTIL) * MS_PER_S > nowMs;
  }

  /**
   * Exchanges the state and keeps count. Whoever takes `READY` away MUST have
   * lowered the count before; it is raised again when the exchange fails.
   */
  #exchangeState(slot: number, from: number, to: number): boolean {
    const at = slot * SLOT_WORDS + STATE;
    const isDone = Atomics.compareExchange(this.#words, at, from, to) === from;
    const isReady = isDone ? to === READY : from === READY;
    if (isReady) Atomics.add(this.#words, READY_COUNT, 1);
    return isDone;
  }

  /** A point in time, rounded down to a second. */
  #time(slot: number, word: number): number | undefined {
    const second = this.#second(slot, word);
    return second === 0 ? undefined : (second - 1) * MS_PER_S;
  }

  /** Unsigned, as a signed word of seconds ends in 2038. */
  #second(slot: number, word: number): number {
    return this.#load(slot, word) >>> 0;
  }

  #load(slot: number, word: number): number {
    return Atomics.load(this.#words, slot * SLOT_WORDS + word);
  }
}
