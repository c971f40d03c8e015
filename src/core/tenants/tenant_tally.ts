/**
 * How requests of tenants have ended, by the slot of each tenant's limits.
 *
 * Each worker adds to its own row, so that counting costs a plain addition;
 * whoever reads sums the rows. A worker that replaces a dead one goes on with
 * its row, so counts never fall.
 *
 * Invariant: a slot's counts go on when the slot gets another owner: nobody
 * but a row's own worker ever writes it. Readers keep in mind what was before.
 *
 * @module
 */
import { SLOT_COUNT } from "./tenant_limits.ts";

/**
 * How a request ended, in the order of the cells: the class of the status that
 * the client was told; `limited` when that was for the tenant's own limits;
 * `client_gone` when there was nobody to be told.
 */
export const TENANT_OUTCOMES = [
  "1xx",
  "2xx",
  "3xx",
  "4xx",
  "5xx",
  "limited",
  "client_gone",
] as const;

/** One of `TENANT_OUTCOMES`. */
export type TenantOutcome = typeof TENANT_OUTCOMES[number];

/** Cells of a slot: a power of two, so that few slots share a cache line. */
const SLOT_CELLS = 8;

const ROW_CELLS = SLOT_COUNT * SLOT_CELLS;

/** One float of 8 bytes a cell: exact up to 2^53 requests. */
const CELL_BYTES = 8;

/** The counts, as one worker adds to them. */
export class TenantTally {
  readonly #cells: Float64Array;
  readonly #row: number;

  /** @param index Of the worker. */
  constructor(buffer: SharedArrayBuffer, index: number) {
    this.#cells = new Float64Array(buffer);
    this.#row = index * ROW_CELLS;
  }

  /** Allocates 512 KiB for each worker, of which used slots take memory. */
  static create(workerCount: number): SharedArrayBuffer {
    return new SharedArrayBuffer(ROW_CELLS * CELL_BYTES * workerCount);
  }

  /** Counts one more request; only on the worker's own thread. */
  count(slot: number, outcome: TenantOutcome): void {
    const cell = this.#row + slot * SLOT_CELLS +
      TENANT_OUTCOMES.indexOf(outcome);
    this.#cells[cell] = (this.#cells[cell] ?? 0) + 1;
  }

  /** The counts of a slot over all workers, in the order of the outcomes. */
  sums(slot: number): number[] {
    return TENANT_OUTCOMES.map((_, at) => {
      let sum = 0;
      const first = slot * SLOT_CELLS + at;
      for (let cell = first; cell < this.#cells.length; cell += ROW_CELLS) {
        sum += this.#cells[cell] ?? 0;
      }
      return sum;
    });
  }
}
