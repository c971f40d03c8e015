/**
 * The sessions of all worker threads, in one SharedArrayBuffer, without locks.
 *
 * The table is set-associative: a key's hash names a bucket of 8 records
 * (`session_place.ts`) and the session is in one of them or nowhere. Nothing is
 * ever moved, so there is no resize, no tombstone and no pause, and memory is
 * fixed at the start.
 *
 * A bucket may overflow before the table is full: of all sessions 0.01 % are
 * evicted early when a quarter of the records hold live ones, 0.8 % at a half
 * and 14 % when there are as many as records. Capacity should be about twice
 * the sessions that are alive within the idle time.
 *
 * `session_claim.ts` and `session_hold.ts` say how threads agree on records,
 * `session_record.ts` where everything stands, `session_sweep.ts` how gauges
 * are read, `session_service.ts` how service is counted.
 *
 * A session has a *binding*, written when an endpoint has answered, and while
 * calls are in flight possibly an unconfirmed one, which makes the parallel
 * first calls of a session go to one endpoint. The latter is forgotten with
 * the last call.
 *
 * Invariant: a key has at most one published record, and a record in flight
 * (`pins` over 0) keeps its key or, once ended, has none. Between `pin` and
 * `unpin` a record index is therefore a safe handle, and only there.
 *
 * @module
 */
import { FAILURES } from "./binding.ts";
import type { KeyHash } from "../hash.ts";
import { confirmBinding, countFailure } from "./session_binding.ts";
import { endKey, findRecord, takeRecord } from "./session_claim.ts";
import { endHeld, giveBack } from "./session_hold.ts";
import type { PlaceSecret } from "./session_place.ts";
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";
import { addService, type CallService } from "./session_service.ts";
import {
  clearSessions,
  type SessionView,
  type SweepRange,
  type SweepReport,
  sweepSessions,
  type SweptTable,
} from "./session_sweep.ts";

/** 2^24: word numbers stay in 31 bits, and 640 MiB is more than enough. */
const CAPACITY_MAX = 1 << 24;

/** What a new table is made for. */
export interface SessionTableOptions {
  /** Records, rounded up to a multiple of 8; at most 2^24. */
  readonly capacity: number;
  /** Idle time after which a session starts anew, in steps of 100 ms. */
  readonly idleTtlMs: number;
  /** Where ticks count from: no later than any `nowMs` given afterwards. */
  readonly epochMs: number;
  /** Where clients choose keys; without it every run has the same places. */
  readonly secret?: PlaceSecret;
}

/** What the header counts, since the table was made. */
export interface SessionGauges {
  readonly capacity: number;
  /**
   * Records in use: sessions, expired ones until they are swept, and ended
   * ones until their last call is settled.
   */
  readonly occupied: number;
  /** Idle sessions that gave way to new ones in their bucket. */
  readonly evictions: number;
  /** Requests that went untracked: all of their bucket was in flight. */
  readonly fullBuckets: number;
  /** Claims of stopped threads that a sweep took back. */
  readonly repairs: number;
}

/** One view of the table; every thread makes its own over the same buffer. */
export class SessionTable {
  readonly buffer: SharedArrayBuffer;
  readonly capacity: number;
  readonly #words: Int32Array;
  readonly #epochMs: number;

  /** Attaches to a buffer that `create` made, in this thread or another. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.#epochMs = new Float64Array(buffer)[LAYOUT.epochMs / 2] ?? 0;
    this.capacity = Atomics.load(this.#words, LAYOUT.buckets) *
      LAYOUT.bucketRecords;
  }

  /** Bytes a table of `capacity` records takes: 40 a record and a header. */
  static bytesFor(capacity: number): number {
    const buckets = Math.ceil(capacity / LAYOUT.bucketRecords);
    return 4 * (LAYOUT.headerWords + buckets * LAYOUT.bucketWords);
  }

  /** @throws {RangeError} when the capacity is not between 1 and 2^24. */
  static create(options: SessionTableOptions): SessionTable {
    const { capacity, idleTtlMs, epochMs, secret } = options;
    if (!(capacity >= 1 && capacity <= CAPACITY_MAX)) {
      throw new RangeError(
        `Cannot make a session table as capacity must be 1 to ${CAPACITY_MAX}: current value is ${capacity}`,
      );
    }
    const buffer = new SharedArrayBuffer(SessionTable.bytesFor(capacity));
    new Float64Array(buffer)[LAYOUT.epochMs / 2] = epochMs;
    const words = new Int32Array(buffer);
    words[LAYOUT.buckets] = Math.ceil(capacity / LAYOUT.bucketRecords);
    words[LAYOUT.secretLow] = secret?.low ?? 0;
    words[LAYOUT.secretHigh] = secret?.high ?? 0;
    const table = new SessionTable(buffer);
    table.setIdleTtl(idleTtlMs);
    return table;
  }

  /** Sets the idle time for all threads at once; rounded up to 100 ms. */
  setIdleTtl(idleTtlMs: number): void {
    const ticks = Math.ceil(Math.max(idleTtlMs, 1) / LAYOUT.tickMs);
    Atomics.store(
      this.#words,
      LAYOUT.idleTtlTicks,
      Math.min(ticks, 0x7fffffff),
    );
  }

  /**
   * Takes hold of the session of `key` for one request, new if need be.
   *
   * A session that nobody holds and that has been idle for too long starts
   * anew, without past; one that is held never does.
   *
   * @returns The record, or -1 when the session cannot be tracked: every
   * record of its bucket is in flight, or another thread's claim hangs.
   */
  pin(key: KeyHash, nowMs: number): number {
    return takeRecord(this.#words, key, this.#tick(nowMs));
  }

  /** Gives back one hold of `record`; never below none. */
  unpin(record: number, nowMs: number): void {
    giveBack(this.#words, record, this.#tick(nowMs));
  }

  /** The record of `key` or -1, without taking hold of it: for looking only. */
  find(key: KeyHash): number {
    return findRecord(this.#words, key);
  }

  /** How many requests hold `record`. */
  pins(record: number): number {
    return Math.max(0, this.#load(record, FIELD.pins));
  }

  /** Calls of the session so far. */
  turns(record: number): number {
    return this.#load(record, FIELD.turns);
  }

  /** Counts a call of a session that is held; returns the new count. */
  addTurn(record: number): number {
    return Atomics.add(this.#words, fieldsOf(record) + FIELD.turns, 1) + 1;
  }

  /** The confirmed binding of a session, without its failures, or 0. */
  binding(record: number): number {
    return this.#load(record, FIELD.bound) & ~FAILURES.mask;
  }

  /** The unconfirmed binding of a session's calls in flight, or 0. */
  tentative(record: number): number {
    return this.#load(record, FIELD.tentative);
  }

  /**
   * Makes `word` the unconfirmed binding if it still is `seen`.
   *
   * @returns The unconfirmed binding in force: `word`, or that of a parallel
   * call of the same session which came first.
   */
  bindTentative(record: number, seen: number, word: number): number {
    const at = fieldsOf(record) + FIELD.tentative;
    const found = Atomics.compareExchange(this.#words, at, seen, word);
    return found === seen ? word : found;
  }

  /**
   * Makes `word`, whose endpoint has answered, the binding, if the binding
   * still is `seen`: the first of parallel answers wins. Forgets failures.
   *
   * @returns Whether the session is now bound by `word`.
   */
  confirm(record: number, seen: number, word: number): boolean {
    return confirmBinding(this.#words, record, seen, word);
  }

  /**
   * Counts a failure of the endpoint of `word` against this session: the
   * third in a row drops the binding, the first an unconfirmed one.
   *
   * @returns Whether the binding was dropped.
   */
  noteFailure(record: number, word: number): boolean {
    return countFailure(this.#words, record, word);
  }

  /** Drops both bindings of a session. */
  drop(record: number): void {
    Atomics.store(this.#words, fieldsOf(record) + FIELD.tentative, 0);
    Atomics.store(this.#words, fieldsOf(record) + FIELD.bound, 0);
  }

  /**
   * Service on the session's critical path, in whole milliseconds: what a call
   * that arrives now inherits.
   */
  criticalPathMs(record: number): number {
    return this.#load(record, FIELD.criticalPath);
  }

  /** Service of all calls of the session, in whole milliseconds. */
  attainedMs(record: number): number {
    return this.#load(record, FIELD.attainedService);
  }

  /** How long the session has waited, in whole milliseconds, likewise. */
  waitedMs(record: number): number {
    return this.#load(record, FIELD.waited);
  }

  /** Forgets how long a session that is held has waited. */
  clearWaited(record: number): void {
    Atomics.store(this.#words, fieldsOf(record) + FIELD.waited, 0);
  }

  /** Adds a settled call to a session that is held: `session_service.ts`. */
  addService(record: number, call: CallService): void {
    addService(this.#words, record, call);
  }

  /**
   * Ends a session that is held, as its client says that it is over.
   *
   * What is known of it is forgotten; the next call of its key starts a new
   * session. Calls in flight keep their holds, and MUST give them back as
   * ever: the record is free after the last.
   */
  end(record: number): void {
    endHeld(this.#words, record);
  }

  /**
   * Ends the session of `key`, at once if nobody holds it, else as `end` does.
   *
   * @returns Whether there was one; an expired one counts until it is swept.
   * False too when another thread's claim of it hangs.
   */
  endKey(key: KeyHash): boolean {
    return endKey(this.#words, key);
  }

  /** Walks a stretch of the table: see `session_sweep.ts`. */
  sweep(range: SweepRange, visit: (session: SessionView) => void): SweepReport {
    return sweepSessions(this.#swept(), range, visit);
  }

  /** Frees all idle sessions and unbinds the others. */
  clear(): void {
    clearSessions(this.#swept());
  }

  /** What the header counts. */
  gauges(): SessionGauges {
    return {
      capacity: this.capacity,
      occupied: Atomics.load(this.#words, LAYOUT.occupied),
      evictions: Atomics.load(this.#words, LAYOUT.evictions),
      fullBuckets: Atomics.load(this.#words, LAYOUT.fullBuckets),
      repairs: Atomics.load(this.#words, LAYOUT.repairs),
    };
  }

  #swept(): SweptTable {
    return {
      words: this.#words,
      capacity: this.capacity,
      epochMs: this.#epochMs,
    };
  }

  #tick(nowMs: number): number {
    return Math.floor((nowMs - this.#epochMs) / LAYOUT.tickMs) | 0;
  }

  #load(record: number, field: number): number {
    return Atomics.load(this.#words, fieldsOf(record) + field);
  }
}
