/**
 * How late the event loop of each thread runs, in one SharedArrayBuffer.
 *
 * A thread notes how much later than asked for its timers fire. What is shown
 * is the longest of the last two windows, so that a reader who comes by every
 * 15 s misses none. A thread that does not note anything is late as well, by
 * as much as its next note is overdue: so a loop that hangs shows too.
 *
 * Invariant: each thread writes its own cells, and clocks of threads agree
 * within milliseconds, as all follow the clock of the machine.
 *
 * @module
 */

/** Longer than the usual 15 s between two scrapes, in milliseconds. */
const WINDOW_MS = 20_000;

/** Cells of a thread: the longest of both windows, and two points in time. */
const CURRENT = 0;
const FORMER = 1;
const BEGAN_AT = 2;
const DUE_AT = 3;
const THREAD_CELLS = 8;
const CELL_BYTES = 8;

/** The lags of all threads. */
export class LoopLags {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Float64Array;

  /** @param buffer Of `bytesFor`, shared by all threads. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#cells = new Float64Array(buffer);
  }

  /** Size of the buffer for so many threads. */
  static bytesFor(threadCount: number): number {
    return threadCount * THREAD_CELLS * CELL_BYTES;
  }

  /** A thread begins to note, and will note again at `dueAtMs`. */
  begin(thread: number, nowMs: number, dueAtMs: number): void {
    const at = thread * THREAD_CELLS;
    this.#cells[at + CURRENT] = 0;
    this.#cells[at + FORMER] = 0;
    this.#cells[at + BEGAN_AT] = nowMs;
    this.#cells[at + DUE_AT] = dueAtMs;
  }

  /** Notes that the thread runs now, and is to run again at `dueAtMs`. */
  note(thread: number, nowMs: number, dueAtMs: number): void {
    const cells = this.#cells;
    const at = thread * THREAD_CELLS;
    const lagMs = Math.max(0, nowMs - (cells[at + DUE_AT] ?? nowMs));
    if (nowMs - (cells[at + BEGAN_AT] ?? 0) >= WINDOW_MS) {
      cells[at + FORMER] = cells[at + CURRENT] ?? 0;
      cells[at + CURRENT] = lagMs;
      cells[at + BEGAN_AT] = nowMs;
    } else cells[at + CURRENT] = Math.max(cells[at + CURRENT] ?? 0, lagMs);
    cells[at + DUE_AT] = dueAtMs;
  }

  /** The longest lag lately; `undefined` for a thread that never began. */
  longestMs(thread: number, nowMs: number): number | undefined {
    const at = thread * THREAD_CELLS;
    const dueAtMs = this.#cells[at + DUE_AT] ?? 0;
    if (dueAtMs === 0) return undefined;
    const current = this.#cells[at + CURRENT] ?? 0;
    const former = this.#cells[at + FORMER] ?? 0;
    return Math.max(current, former, nowMs - dueAtMs);
  }
}
