/**
 * What one worker thread holds of the shared tables, so that it can be given
 * back when the thread dies: its list of requests in flight.
 *
 * Each worker writes its own ledger, and nobody else does while it lives. The
 * supervisor reclaims it after the thread has ended.
 *
 * A thread that ends between two turns of its event loop loses nothing, and so
 * do all that `Worker.terminate` ends: it waits for such a moment. Only a
 * runtime that stopped a thread in the middle of a placement could lose what is
 * taken and not written yet: one session record would stay in flight until the
 * next start (one of 262,144), and one endpoint count one request too many. In
 * the middle of settling, a place could be given back twice: the endpoint would
 * count one too few until it has been idle once, as counts never fall below 0.
 * A session record is never given back twice, since that could take away
 * another request's hold.
 *
 * Invariant: what an entry names is given back exactly once, by the worker or
 * by the supervisor.
 *
 * @module
 */
import type { SessionTable } from "../sessions/session_table.ts";

/** Most requests in flight of a worker; 128 KiB a worker. */
const ENTRIES_DEFAULT = 16_384;

/** Words of an entry: record plus 2 and slot plus 1, so that 0 is nothing. */
const ENTRY_WORDS = 2;

/** In place of a slot, for a request that waits: stored as -1, not as free. */
const WAITING = -2;

/** What a reclaimed ledger held. */
export interface Reclaimed {
  readonly sessions: number;
  readonly places: number;
}

/** Takes places back. */
interface LedgerPlaces {
  release(slot: number, nowMs: number): void;
}

/** The requests in flight of one worker thread. */
export class Ledger {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;
  /** Free entries, as a stack. */
  readonly #free: Int32Array;
  #freeCount: number;

  /** Attaches to a buffer, whose entries in use stay so. */
  constructor(buffer: SharedArrayBuffer = Ledger.#allocate(ENTRIES_DEFAULT)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    const entries = this.#words.length / ENTRY_WORDS;
    this.#free = new Int32Array(entries);
    this.#freeCount = 0;
    for (let entry = entries - 1; entry >= 0; entry--) {
      if (this.#isFree(entry)) this.#free[this.#freeCount++] = entry;
    }
  }

  /** A ledger of `entries` requests. */
  static create(entries: number): Ledger {
    return new Ledger(Ledger.#allocate(entries));
  }

  /** How many requests the ledger holds now. */
  get openCount(): number {
    return this.#free.length - this.#freeCount;
  }

  /** Whether it can hold no more. */
  get isFull(): boolean {
    return this.#freeCount === 0;
  }

  /**
   * Notes that a request holds `record` (-1 for none) and a place on `slot`.
   *
   * @returns The entry, or -1 when the ledger is full.
   */
  open(record: number, slot: number): number {
    if (this.#freeCount === 0) return -1;
    const entry = this.#free[--this.#freeCount] ?? -1;
    Atomics.store(this.#words, entry * ENTRY_WORDS, record + 2);
    Atomics.store(this.#words, entry * ENTRY_WORDS + 1, slot + 1);
    return entry;
  }

  /** Notes that a request that waits holds `record` (-1 for none). */
  openWaiting(record: number): number {
    return this.open(record, WAITING);
  }

  /** Notes that the request of an entry has a place on `slot` now. */
  setPlace(entry: number, slot: number): void {
    Atomics.store(this.#words, entry * ENTRY_WORDS + 1, slot + 1);
  }

  /**
   * Strikes the session record of an entry: MUST come before it is unpinned.
   */
  strikeSession(entry: number): void {
    Atomics.store(this.#words, entry * ENTRY_WORDS, 0);
  }

  /** Ends an entry: MUST come after its place was released. */
  close(entry: number): void {
    if (this.#isFree(entry)) return;
    Atomics.store(this.#words, entry * ENTRY_WORDS, 0);
    Atomics.store(this.#words, entry * ENTRY_WORDS + 1, 0);
    this.#free[this.#freeCount++] = entry;
  }

  /**
   * Gives back all that a dead worker held; called by the supervisor when that
   * thread has ended. A second call finds nothing.
   */
  reclaim(
    sessions: SessionTable,
    places: LedgerPlaces,
    nowMs: number,
  ): Reclaimed {
    const reclaimed = { sessions: 0, places: 0 };
    for (let at = 0; at < this.#words.length; at += ENTRY_WORDS) {
      const record = Atomics.exchange(this.#words, at, 0) - 2;
      if (record >= 0) {
        sessions.unpin(record, nowMs);
        reclaimed.sessions++;
      }
      const slot = Atomics.exchange(this.#words, at + 1, 0) - 1;
      if (slot >= 0) {
        places.release(slot, nowMs);
        reclaimed.places++;
      }
    }
    return reclaimed;
  }

  static #allocate(entries: number): SharedArrayBuffer {
    return new SharedArrayBuffer(4 * ENTRY_WORDS * entries);
  }

  #isFree(entry: number): boolean {
    return Atomics.load(this.#words, entry * ENTRY_WORDS + 1) === 0;
  }
}
