/**
 * Notices clients that go away before they are answered.
 *
 * Listening to a request's signal costs almost as much CPU as the rest of its
 * handling (13 of 28 us measured on Deno 2.9.6), and most short requests are
 * answered long before it could matter. So a request is listened to only once
 * it has been open for a tick; a disconnect that came earlier is still
 * reported then.
 *
 * Over HTTP/2 nothing is reported to who listens later, on any version, so its
 * requests are listened to from the start.
 *
 * Invariant: whoever is still unanswered after two ticks is listened to.
 *
 * @module
 */
import { Roster, type RosterMember } from "../core/roster.ts";

/** Milliseconds between ticks: well below the 100 ms a disconnect may take. */
const TICK_MS = 25;

/** A request that can be listened to. */
export interface Watchable extends RosterMember {
  /** The tick it came in; -1 once it is listened to. Written by the watch. */
  tick: number;
  /** Starts listening; called once. */
  listen(): void;
}

/** The requests without an answer; listens to those that stay without. */
export class DisconnectWatch<Request extends Watchable> {
  readonly #atOnce: boolean;
  readonly #unanswered = new Roster<Request>();
  #ticks = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param atOnce Whether to listen from the start of every request. */
  constructor(atOnce: boolean) {
    this.#atOnce = atOnce;
  }

  /** A request has come; `forgets` as HTTP/2 does what it reports unheard. */
  add(request: Request, forgets = false): void {
    this.#unanswered.add(request);
    if (this.#atOnce || forgets) request.listen();
    else {
      request.tick = this.#ticks;
      this.#timer ??= this.#tickLater();
    }
  }

  /** A request has its answer: listening would be pointless. */
  answered(request: Request): void {
    this.#unanswered.delete(request);
  }

  /** Calls `visit` for each request without an answer. */
  forEach(visit: (request: Request) => void): void {
    this.#unanswered.forEach(visit);
  }

  /** Forgets all requests. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#unanswered.clear();
  }

  #tickLater(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    let hasYoung = false;
    this.#unanswered.forEach((request) => {
      if (request.tick === this.#ticks) hasYoung = true;
      else if (request.tick >= 0) {
        request.tick = -1;
        request.listen();
      }
    });
    this.#ticks++;
    this.#timer = hasYoung ? this.#tickLater() : undefined;
  }
}
