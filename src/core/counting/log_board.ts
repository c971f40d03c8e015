/**
 * What threads share of the log: the level from which events are kept, and how
 * many batches of lines of each worker have been written.
 *
 * Shared memory instead of messages: a change of the level reaches all threads
 * at once, those started later included, and asking costs one load. The counts
 * tell a worker whether whoever writes keeps up, so that it never posts lines
 * without end to a thread that cannot get rid of them.
 *
 * Invariant: one thread sets the level and counts what is written; all others
 * only read.
 *
 * @module
 */
import type { LogLevel } from "../outside.ts";

/** From least to most; places are what is stored. */
export const LOG_LEVELS: readonly LogLevel[] = [
  "debug",
  "info",
  "warn",
  "error",
];

/** The level stands in front of the counts. */
const COUNTS_AT = 1;

/** One thread's view of the board. */
export class LogBoard {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  /** A board for `workerCount` workers and the main thread. */
  static create(level: LogLevel, workerCount: number): LogBoard {
    const bytes = (COUNTS_AT + workerCount) * Int32Array.BYTES_PER_ELEMENT;
    const board = new LogBoard(new SharedArrayBuffer(bytes));
    board.setLevel(level);
    return board;
  }

  /** Has all threads keep what is of this level or above it. */
  setLevel(level: LogLevel): void {
    Atomics.store(this.#cells, 0, LOG_LEVELS.indexOf(level));
  }

  /** Whether events of this level are kept. */
  takes(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= Atomics.load(this.#cells, 0);
  }

  /** Batches of a worker that have been written; wraps at 2^31. */
  writtenCount(worker: number): number {
    return Atomics.load(this.#cells, COUNTS_AT + worker);
  }

  /** Counts one more batch of a worker as written. */
  noteWritten(worker: number): void {
    Atomics.add(this.#cells, COUNTS_AT + worker, 1);
  }
}
