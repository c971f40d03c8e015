/**
 * What has gone to each endpoint, counted by all workers in one
 * SharedArrayBuffer.
 *
 * Each worker adds to its own row, as in `counters.ts`: a plain addition to a
 * cell that no other thread writes. Endpoints are told apart by their slot
 * alone, since a name would have to be looked up for each request. The main
 * thread, which gives slots away, remembers what a slot's former endpoints
 * have left in it.
 *
 * Invariant: totals of an endpoint never fall while it keeps its slot and
 * generation, and a new endpoint in an old slot begins at 0: nothing is in
 * flight when a slot is given away, so nobody adds for its former endpoint.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "./endpoint_table.ts";

/** One cache line of 8-byte floats a slot, exact up to 2^53. */
const SLOT_CELLS = 8;
const ROW_CELLS = SLOT_CELLS * ENDPOINTS_MAX;
const CELL_BYTES = 8;

/** Cells of a slot. */
const ATTEMPTS = 0;
const FAILURES = 1;
const HITS = 2;
const FIRST_BYTE_COUNT = 3;
const FIRST_BYTE_MS = 4;
const RESPONSE_BYTES = 5;

/** What an endpoint has been asked and has answered. */
export interface EndpointTotals {
  /** Upstream requests started. */
  readonly attempts: number;
  /** Those that failed by its fault. */
  readonly failures: number;
  /** Attempts of sessions that were bound to it. */
  readonly hits: number;
  /** Times from the start of an attempt to its first byte. */
  readonly firstByteCount: number;
  readonly firstByteMsSum: number;
  /** Bytes of its answers' bodies. */
  readonly responseBytes: number;
}

/** One worker's row: the hot path of counting. */
export class EndpointTally {
  readonly #cells: Float64Array;

  constructor(cells: Float64Array) {
    this.#cells = cells;
  }

  /** An upstream request starts; `isHit` when the session is bound there. */
  attempted(slot: number, isHit: boolean): void {
    const cells = this.#cells;
    const at = slot * SLOT_CELLS;
    cells[at + ATTEMPTS] = (cells[at + ATTEMPTS] ?? 0) + 1;
    if (isHit) cells[at + HITS] = (cells[at + HITS] ?? 0) + 1;
  }

  /** An attempt, or its relay, has failed by the endpoint's fault. */
  failed(slot: number): void {
    this.#add(slot * SLOT_CELLS + FAILURES, 1);
  }

  /** The first byte of an answer came `ms` after the attempt began. */
  firstByte(slot: number, ms: number): void {
    const at = slot * SLOT_CELLS;
    this.#add(at + FIRST_BYTE_COUNT, 1);
    this.#add(at + FIRST_BYTE_MS, ms);
  }

  /** Bytes of a body have come. */
  relayed(slot: number, byteCount: number): void {
    this.#add(slot * SLOT_CELLS + RESPONSE_BYTES, byteCount);
  }

  #add(cell: number, amount: number): void {
    this.#cells[cell] = (this.#cells[cell] ?? 0) + amount;
  }
}

/** The rows of all workers, and what of them belongs to whom. */
export class EndpointTraffic {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Float64Array;
  /** What former endpoints of each slot have left there, over all rows. */
  readonly #former = new Float64Array(ROW_CELLS);
  /** The generation that each slot's totals belong to; -1 before the first. */
  readonly #generations = new Int32Array(ENDPOINTS_MAX).fill(-1);

  /** @param buffer Of `bytesFor`, shared by all threads. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#cells = new Float64Array(buffer);
  }

  /** Size of the buffer: 16 KiB a worker. */
  static bytesFor(workerCount: number): number {
    return workerCount * ROW_CELLS * CELL_BYTES;
  }

  /** What worker number `index` counts with. */
  tally(index: number): EndpointTally {
    return new EndpointTally(
      this.#cells.subarray(index * ROW_CELLS, (index + 1) * ROW_CELLS),
    );
  }

  /**
   * Has the slot's totals begin at 0, unless they are of `generation`
   * already; for the thread that gives slots away, before anybody asks.
   */
  begin(slot: number, generation: number): void {
    if (this.#generations[slot] === generation) return;
    this.#generations[slot] = generation;
    const first = slot * SLOT_CELLS;
    for (let cell = first; cell < first + SLOT_CELLS; cell++) {
      this.#former[cell] = this.#sum(cell);
    }
  }

  /** The totals of the endpoint in a slot, over all workers. */
  totals(slot: number): EndpointTotals {
    return {
      attempts: this.#own(slot, ATTEMPTS),
      failures: this.#own(slot, FAILURES),
      hits: this.#own(slot, HITS),
      firstByteCount: this.#own(slot, FIRST_BYTE_COUNT),
      firstByteMsSum: this.#own(slot, FIRST_BYTE_MS),
      responseBytes: this.#own(slot, RESPONSE_BYTES),
    };
  }

  #own(slot: number, field: number): number {
    const cell = slot * SLOT_CELLS + field;
    return this.#sum(cell) - (this.#former[cell] ?? 0);
  }

  #sum(cell: number): number {
    let sum = 0;
    for (let at = cell; at < this.#cells.length; at += ROW_CELLS) {
      sum += this.#cells[at] ?? 0;
    }
    return sum;
  }
}
