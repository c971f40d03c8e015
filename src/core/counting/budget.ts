/**
 * What all worker threads together may hold: requests, and bytes of bodies
 * whose key is still unknown.
 *
 * Totals and each worker's own share stand side by side in one
 * SharedArrayBuffer, so that the share of a worker that died can be given back.
 *
 * Invariant: a total is the sum of the shares and never above its limit.
 *
 * @module
 */

/** What is budgeted; the position is the word in a row. */
export const BUDGETED = ["requests", "sniff_bytes"] as const;

/** One of `BUDGETED`. */
export type Budgeted = typeof BUDGETED[number];

/** Bytes are counted in units of this size, so that they fit 31 bits. */
const SNIFF_UNIT_BYTES = 1_024;

/**
 * The last eighth of the sniff memory is for bodies that hold little: a few
 * large uploads must not shut out everybody's short turns.
 */
const LARGE_SHARE = 7 / 8;

/** Holding more than this makes a body a large one, in bytes. */
const SMALL_BYTES_MAX = 65_536;

/** Limits over all workers. */
export interface BudgetLimits {
  readonly requests: number;
  readonly sniffBytes: number;
}

/** One worker's view of the budgets. */
export class Budget {
  readonly #words: Int32Array;
  readonly #row: number;
  readonly #requestsMax: number;
  readonly #unitsMax: number;

  /** @param index Of the worker; row 0 holds the totals. */
  constructor(buffer: SharedArrayBuffer, index: number, limits: BudgetLimits) {
    this.#words = new Int32Array(buffer);
    this.#row = (index + 1) * BUDGETED.length;
    this.#requestsMax = limits.requests;
    this.#unitsMax = Math.floor(limits.sniffBytes / SNIFF_UNIT_BYTES);
  }

  /** Size of the buffer for `workerCount` workers. */
  static bytesFor(workerCount: number): number {
    return 4 * BUDGETED.length * (workerCount + 1);
  }

  /** Takes a request's place; false when there are as many as may be. */
  takeRequest(): boolean {
    return this.#take(REQUESTS, 1, this.#requestsMax);
  }

  giveRequest(): void {
    this.#give(REQUESTS, 1);
  }

  /**
   * Takes room for `byteCount` more bytes of a body that holds `heldBytes`.
   *
   * @returns What to give back, or -1 when there is no room.
   */
  takeSniff(byteCount: number, heldBytes: number): number {
    const units = Math.ceil(byteCount / SNIFF_UNIT_BYTES);
    const isLarge = heldBytes + byteCount > SMALL_BYTES_MAX;
    const limit = isLarge ? this.#unitsMax * LARGE_SHARE : this.#unitsMax;
    return this.#take(SNIFF, units, limit) ? units : -1;
  }

  /** Gives back units that `takeSniff` returned. */
  giveSniff(units: number): void {
    this.#give(SNIFF, units);
  }

  /** What is held now, over all workers. */
  held(): { readonly requests: number; readonly sniffBytes: number } {
    return {
      requests: Atomics.load(this.#words, REQUESTS),
      sniffBytes: Atomics.load(this.#words, SNIFF) * SNIFF_UNIT_BYTES,
    };
  }

  /** Requests that this row's worker holds. */
  get ownRequests(): number {
    return Atomics.load(this.#words, this.#row + REQUESTS);
  }

  /** Gives back all that this row's worker held; after it has ended. */
  reclaim(): void {
    for (let word = 0; word < BUDGETED.length; word++) {
      const share = Atomics.exchange(this.#words, this.#row + word, 0);
      Atomics.sub(this.#words, word, share);
    }
  }

  #take(word: number, amount: number, limit: number): boolean {
    if (Atomics.add(this.#words, word, amount) + amount > limit) {
      Atomics.sub(this.#words, word, amount);
      return false;
    }
    Atomics.add(this.#words, this.#row + word, amount);
    return true;
  }

  #give(word: number, amount: number): void {
    Atomics.sub(this.#words, this.#row + word, amount);
    Atomics.sub(this.#words, word, amount);
  }
}

const REQUESTS = BUDGETED.indexOf("requests");
const SNIFF = BUDGETED.indexOf("sniff_bytes");
