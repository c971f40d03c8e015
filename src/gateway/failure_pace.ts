/**
 * How many failures a thread tells of: so many a second, and how many it left
 * out.
 *
 * A flood of failures must not become a flood of lines, which would cost more
 * than answering them.
 *
 * Invariant: every failure is either told of or in a count that is told within
 * a second, and when the gateway closes, whether or not another one comes.
 *
 * @module
 */
import type { Clock, Log } from "../core/outside.ts";

/**
 * 100 a second and thread: more than anybody reads, and little beside what
 * answering takes.
 */
const FAILURES_PER_SECOND = 100;

const SECOND_MS = 1_000;

/** What a pace is made of. */
export interface FailurePaceParts {
  readonly clock: Clock;
  /** Takes `request.suppressed`. */
  readonly log: Log;
}

/** The pace of one thread, whatever its configuration becomes. */
export class FailurePace {
  readonly #parts: FailurePaceParts;
  #second = 0;
  #toldCount = 0;
  #suppressedCount = 0;
  #isClosed = false;
  #cancel: () => void = () => {};

  constructor(parts: FailurePaceParts) {
    this.#parts = parts;
  }

  /** Whether one more failure may be told of; counts it if not. */
  mayTell(nowMs: number): boolean {
    const second = Math.floor(nowMs / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#toldCount = 0;
    }
    if (this.#toldCount < FAILURES_PER_SECOND) {
      this.#toldCount += 1;
      return true;
    }
    this.#suppressedCount += 1;
    if (this.#suppressedCount === 1) this.#tellSoon();
    return false;
  }

  /** Tells what is left, and sets no more timers. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#cancel();
    this.#tell();
  }

  #tellSoon(): void {
    if (!this.#isClosed) {
      this.#cancel = this.#parts.clock.after(SECOND_MS, () => this.#tell());
      return;
    }
    // What waited when the gateway closed fails at once, and is one count.
    Promise.resolve().then(() => this.#tell());
  }

  #tell(): void {
    const count = this.#suppressedCount;
    if (count === 0) return;
    this.#suppressedCount = 0;
    this.#parts.log("warn", "request.suppressed", { count });
  }
}
