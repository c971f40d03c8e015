/**
 * Signals of the operating system, to be awaited one after the other.
 *
 * Invariant: while a queue is open none of its signals ends the process, and
 * one that nobody waits for is dropped, not kept.
 *
 * @module
 */

/**
 * Has `listener` called at each signal, which does not end the process then.
 *
 * @returns What ends that.
 */
export function onSignal(
  signal: Deno.Signal,
  listener: () => void,
): () => void {
  Deno.addSignalListener(signal, listener);
  return () => Deno.removeSignalListener(signal, listener);
}

/** Listens to signals until it is closed. */
export class SignalQueue {
  readonly #listeners = new Map<Deno.Signal, () => void>();
  #waiting: ((signal: Deno.Signal) => void) | undefined;

  constructor(signals: readonly Deno.Signal[]) {
    for (const signal of signals) {
      const listener = () => this.#waiting?.(signal);
      this.#listeners.set(signal, listener);
      Deno.addSignalListener(signal, listener);
    }
  }

  /** Resolves at the next signal; one caller at a time. */
  next(): Promise<Deno.Signal> {
    return new Promise((resolve) => this.#waiting = resolve);
  }

  /** Stops listening. */
  close(): void {
    for (const [signal, listener] of this.#listeners) {
      Deno.removeSignalListener(signal, listener);
    }
  }
}
