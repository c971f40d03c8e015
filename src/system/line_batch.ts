/**
 * Lines on their way from a thread that makes many to the one that writes them.
 *
 * A message for each line costs the thread more than making the line; one for
 * many costs next to nothing. And only one thread may write: lines of several
 * writers of a pipe mix once they are longer than the system keeps together.
 *
 * Invariant: at most `BATCH_CHARS_MAX` are held, and at most `AHEAD_MAX`
 * batches are posted and not written. What comes on top is dropped and
 * counted; no request waits for its line.
 *
 * @module
 */
import type { Clock } from "../core/outside.ts";

/** 50 ms: at once for whoever watches, and twenty messages a second. */
const BATCH_MS = 50;

/** A batch of 64 KiB is posted at once: some 200 lines. */
const BATCH_CHARS_MAX = 65_536;

/** Batches that may be ahead of the writer: a second of 1,000 lines. */
const AHEAD_MAX = 8;

/** What a batch is made of. */
export interface LineBatchParts {
  readonly clock: Clock;
  /** Takes whole lines; each call counts as one batch. */
  readonly post: (lines: string) => void;
  /** Batches written so far; may wrap at 2^31. */
  readonly writtenCount: () => number;
  /** Told how many lines were dropped, once there is room again. */
  readonly onDropped: (count: number) => void;
}

/** Gathers the lines of one thread. */
export class LineBatch {
  readonly #parts: LineBatchParts;
  readonly #writtenAtStart: number;
  #lines = "";
  #lineCount = 0;
  #postedCount = 0;
  #droppedCount = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: LineBatchParts) {
    this.#parts = parts;
    // A thread in place of a dead one does not begin at 0.
    this.#writtenAtStart = parts.writtenCount();
  }

  /**
   * Takes a line with its end.
   *
   * A line put together of pieces is a tree of them until it is read, and 200
   * trees that wait for their batch are a burden for the garbage collector:
   * looking for the end saves more than it costs (0.4 of 12.6 us a request).
   *
   * @throws {Error} when the line has no end: it would run into the next one.
   */
  add(line: string): void {
    if (!line.endsWith("\n")) {
      throw new Error("Cannot take a line without its end");
    }
    if (this.#lines.length + line.length > BATCH_CHARS_MAX) this.flush();
    if (this.#lines.length + line.length > BATCH_CHARS_MAX) {
      this.#droppedCount += 1;
      return;
    }
    this.#lines += line;
    this.#lineCount += 1;
    this.#later();
  }

  /** Posts what there is, unless the writer is too far behind. */
  flush(): void {
    if (this.#lineCount === 0 || !this.#hasRoom()) return;
    this.#post();
  }

  /** Posts what there is, wherever the writer is, and stops its timer. */
  close(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#lineCount > 0) this.#post();
  }

  /** Flushes in a moment, and again while the writer is behind. */
  #later(): void {
    this.#cancelTimer ??= this.#parts.clock.after(BATCH_MS, () => {
      this.#cancelTimer = undefined;
      this.flush();
      if (this.#lineCount > 0) this.#later();
    });
  }

  #post(): void {
    const lines = this.#lines;
    this.#lines = "";
    this.#lineCount = 0;
    this.#postedCount += 1;
    this.#parts.post(lines);
    if (this.#droppedCount === 0) return;
    const count = this.#droppedCount;
    this.#droppedCount = 0;
    this.#parts.onDropped(count);
  }

  #hasRoom(): boolean {
    const { writtenCount } = this.#parts;
    const written = writtenCount() - this.#writtenAtStart;
    return (this.#postedCount - written | 0) < AHEAD_MAX;
  }
}
