/**
 * Runs the discrete model of an engine in real time.
 *
 * Invariant: one timer at most, set to the next event of the model, and none
 * while the engine has nothing to do. A call whose signal aborts leaves the
 * model at once, whichever stage it is in.
 *
 * @module
 */
import type { Batch, BatchCall, BatchEvent } from "./batch.ts";

/** What is known of a call once its first token is out. */
export interface FirstToken {
  /** Moment of the first token, in milliseconds of `performance.now()`. */
  readonly atMs: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** A call on its way through the engine. */
export interface PacedCall {
  /** Rejects with the reason of the signal when the call is given up. */
  readonly firstToken: Promise<FirstToken>;
  /** Resolves with the last token; rejects as `firstToken`. */
  readonly finished: Promise<void>;
}

interface Pending {
  readonly firstToken: PromiseWithResolvers<FirstToken>;
  readonly finished: PromiseWithResolvers<void>;
  readonly release: () => void;
}

/** Drives one `Batch` by the clock of the process. */
export class Pacer {
  readonly #batch: Batch;
  readonly #pending = new Map<number, Pending>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #callCount = 0;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  /** Submits a call; `undefined` when the engine's queue is full. */
  start(
    call: Omit<BatchCall, "id">,
    signal: AbortSignal,
  ): PacedCall | undefined {
    signal.throwIfAborted();
    const id = this.#callCount++;
    if (!this.#batch.submit({ ...call, id }, performance.now())) {
      return undefined;
    }
    const giveUp = () => this.#giveUp(id, signal.reason);
    const pending: Pending = {
      firstToken: Promise.withResolvers(),
      finished: Promise.withResolvers(),
      release: () => signal.removeEventListener("abort", giveUp),
    };
    // A caller may wait for one of the two only.
    pending.firstToken.promise.catch(() => {});
    pending.finished.promise.catch(() => {});
    this.#pending.set(id, pending);
    signal.addEventListener("abort", giveUp);
    this.#turn();
    return {
      firstToken: pending.firstToken.promise,
      finished: pending.finished.promise,
    };
  }

  #turn(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const event of this.#batch.advance(performance.now())) {
      this.#report(event);
    }
    const nextAtMs = this.#batch.nextAtMs;
    if (nextAtMs === undefined) return;
    const waitMs = Math.max(0, nextAtMs - performance.now());
    this.#timer = setTimeout(() => this.#turn(), waitMs);
  }

  #report(event: BatchEvent): void {
    const pending = this.#pending.get(event.id);
    if (pending === undefined) return;
    if (event.kind === "first_token") {
      pending.firstToken.resolve(event);
      return;
    }
    this.#pending.delete(event.id);
    pending.release();
    pending.finished.resolve();
  }

  #giveUp(id: number, reason: unknown): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    pending.release();
    this.#batch.cancel(id, performance.now());
    pending.firstToken.reject(reason);
    pending.finished.reject(reason);
    this.#turn();
  }
}

/** Waits; rejects with the signal's reason as soon as it aborts. */
export function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const giveUp = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    }, durationMs);
    signal.addEventListener("abort", giveUp);
  });
}
