/**
 * The time of a simulated world.
 *
 * A heap of due times, advanced only when nothing else can happen: before each
 * step a turn of the real event loop drains every microtask. Nothing in a
 * world may wait for a socket, a thread or real time, so after that turn all
 * that is left is to let time pass.
 *
 * Invariant: timers fire in the order of their due times, those of one time in
 * the order in which they were set, and time never goes backwards.
 *
 * @module
 */
import { setImmediate } from "node:timers";
import type { Clock } from "../../src/core/outside.ts";

/** Any time long after 1970; worlds start at a round one. */
const START_MS = 1_800_000_000_000;

/** A timer that has not fired. */
interface Timer {
  readonly atMs: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

/** A clock that its owner moves. */
export class SimulatedClock implements Clock {
  readonly #heap: Timer[] = [];
  #nowMs = START_MS;
  #orders = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer: Timer = {
      atMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#orders++,
      callback,
    };
    if (timer.atMs < Infinity) this.#push(timer);
    return () => timer.callback = undefined;
  }

  /** Resolves after `ms`; for the actors of the world. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Goes forward at once, as after a machine's sleep: timers fire late. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  /**
   * Lets time pass until `untilMs`, or until `isOver` says so. `afterStep` is
   * called whenever everything that could happen has happened.
   */
  async run(
    untilMs: number,
    { isOver, afterStep }: {
      readonly isOver?: () => boolean;
      readonly afterStep: () => void;
    },
  ): Promise<void> {
    for (;;) {
      await turn();
      afterStep();
      if (isOver?.() === true) return;
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#pop();
      if (next.callback === undefined) continue;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, timer)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      let least = left;
      if (right !== undefined && isBefore(right, left)) {
        least = right;
        child++;
      }
      if (isBefore(last, least)) break;
      heap[at] = least;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.atMs === other.atMs
    ? one.order < other.order
    : one.atMs < other.atMs;
}

/**
 * One turn of the real event loop, in which every microtask runs. It takes 2
 * us where `setTimeout(0)` takes 1 ms.
 */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => resolve()));
}
