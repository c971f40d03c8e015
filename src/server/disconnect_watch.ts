/**
 * Notices clients that go away before they are answered.
 *
 * Listening to a request's signal costs almost as much CPU as the rest of its
 * handling (13 of 28 us measured on Deno 2.9.6), and most short requests are
 * answered long before it could matter. So a request is listened to only once
 * it has been open for a tick; a disconnect that came earlier is still
 * reported then.
 *
 * Invariant: whoever is still unanswered after two ticks is listened to.
 *
 * @module
 */

/** Milliseconds between ticks: well below the 100 ms a disconnect may take. */
const TICK_MS = 25;

/** A request that can be listened to. */
export interface Watchable {
  /** Whether the answer has begun, after which listening is pointless. */
  readonly isAnswered: boolean;
  /** Starts listening. */
  listen(): void;
}

/** Starts listening to requests that stay open. */
export class DisconnectWatch {
  readonly #atOnce: boolean;
  #young: Watchable[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param atOnce Whether to listen from the start of every request. */
  constructor(atOnce: boolean) {
    this.#atOnce = atOnce;
  }

  add(request: Watchable): void {
    if (this.#atOnce) {
      request.listen();
      return;
    }
    this.#young.push(request);
    this.#timer ??= setTimeout(() => this.#tick(), TICK_MS);
  }

  /** Forgets all requests. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#young = [];
  }

  #tick(): void {
    const young = this.#young;
    this.#young = [];
    this.#timer = undefined;
    for (const request of young) if (!request.isAnswered) request.listen();
  }
}
