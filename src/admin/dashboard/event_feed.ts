/**
 * The status of the gateway as server-sent events (HTML, 9.2), each second for
 * as long as somebody listens.
 *
 * One timer serves all listeners and the status is taken and written out once
 * for all of them, so ten open pages cost what one does. A listener that reads
 * too slowly misses events: each is whole, so the next one makes up for it.
 *
 * Invariant: without listeners there is no timer, and no listener makes the
 * feed hold more than two events for it.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Problem } from "../problem.ts";
import type { GatewayStatus } from "../status.ts";

/** What is sent, and where failures are told. */
export interface EventFeedParts {
  readonly status: () => GatewayStatus | Promise<GatewayStatus>;
  readonly failed: (error: unknown) => void;
}

/** A listener and how many events in a row it had no room for. */
interface Listener {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  missed: number;
}

/** More pages than a team opens; each costs a copy of every event. */
export const LISTENERS_MAX = 32;

/** Milliseconds between two events: as fast as a person reads numbers. */
const PERIOD_MS = 1_000;

/** Events that may wait for one listener; the older one is stale already. */
const WAITING_MAX = 2;

/** Events in a row after which a listener that takes none is given up. */
const MISSED_MAX = 30;

/** Seconds after which a page that was refused may ask again. */
const RETRY_AFTER_S = 5;

/** Sends events to everyone who listens. */
export class EventFeed {
  readonly #parts: EventFeedParts;
  readonly #listeners = new Set<Listener>();
  readonly #encoder = new TextEncoder();
  #timer: ReturnType<typeof setInterval> | undefined;
  #isAsking = false;
  #isClosed = false;

  constructor(parts: EventFeedParts) {
    this.#parts = parts;
  }

  /** Listeners now. */
  get listenerCount(): number {
    return this.#listeners.size;
  }

  /** Whether the timer runs. */
  get isTicking(): boolean {
    return this.#timer !== undefined;
  }

  /**
   * Answers one request with events, the first of them at once.
   *
   * @throws {Problem} when there are as many listeners as there may be.
   */
  open(request: Request): Response {
    const headers = {
      "content-type": "text/event-stream",
      // Nothing on the way may hold events back, or compress them.
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    };
    if (request.method === "HEAD") return new Response(null, { headers });
    if (this.#isClosed || this.#listeners.size >= LISTENERS_MAX) {
      throw new Problem(
        STATUS_CODE.ServiceUnavailable,
        this.#isClosed
          ? "Cannot send events as the gateway is stopping"
          : `Cannot send events to more than ${LISTENERS_MAX} listeners`,
        { "retry-after": String(RETRY_AFTER_S) },
      );
    }
    return new Response(this.#stream(), { headers });
  }

  /** Ends all answers and opens no more. */
  close(): void {
    this.#isClosed = true;
    for (const listener of this.#listeners) this.#end(listener);
  }

  #stream(): ReadableStream<Uint8Array> {
    let listener: Listener | undefined;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        listener = { controller, missed: 0 };
        this.#listeners.add(listener);
        this.#timer ??= setInterval(() => this.#tick(), PERIOD_MS);
        this.#tick();
      },
      cancel: () => {
        if (listener !== undefined) this.#forget(listener);
      },
    }, { highWaterMark: WAITING_MAX });
  }

  async #tick(): Promise<void> {
    // A status that takes longer than a period is not asked for twice.
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const text = JSON.stringify(await this.#parts.status());
      this.#send(this.#encoder.encode(`data: ${text}\n\n`));
    } catch (error) {
      this.#parts.failed(error);
    } finally {
      this.#isAsking = false;
    }
  }

  #send(event: Uint8Array): void {
    for (const listener of this.#listeners) {
      if ((listener.controller.desiredSize ?? 0) > 0) {
        listener.controller.enqueue(event);
        listener.missed = 0;
      } else if (++listener.missed > MISSED_MAX) this.#end(listener);
    }
  }

  #end(listener: Listener): void {
    this.#forget(listener);
    listener.controller.close();
  }

  #forget(listener: Listener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
