/**
 * The time limit on clients that stop sending their body.
 *
 * One coarse timer serves all waits of a gateway, since a timer for each read
 * would cost more than the read.
 *
 * Invariant: a wait ends with its read or, at most a quarter of the limit late,
 * with `body_too_slow`; the timer runs only while there are waits.
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import type { Clock } from "../core/outside.ts";
import { Roster, type RosterMember } from "../core/roster.ts";

/** Checks per limit: waits end at most a quarter late. */
const CHECKS_PER_LIMIT = 4;

/** One wait for a client. */
interface Wait extends RosterMember {
  readonly sinceMs: number;
  readonly giveUp: () => void;
}

/** Watches waits for clients' bodies. */
export class ProgressWatch {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #waits = new Roster<Wait>();
  #stopTimer: (() => void) | undefined;

  /** @param limitMs `Infinity` for no limit. */
  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /**
   * Resolves as `read` does.
   *
   * @throws {GatewayError} `body_too_slow` when it has not by the limit.
   */
  within<T>(read: Promise<T>): Promise<T> {
    if (this.#limitMs === Infinity) return read;
    return new Promise((resolve, reject) => {
      const wait: Wait = {
        rosterPlace: -1,
        sinceMs: this.#clock.nowMs(),
        giveUp: () => reject(new GatewayError("body_too_slow")),
      };
      this.#waits.add(wait);
      this.#stopTimer ??= this.#checkLater();
      read.then(
        (value) => {
          this.#waits.delete(wait);
          resolve(value);
        },
        (error) => {
          this.#waits.delete(wait);
          reject(error);
        },
      );
    });
  }

  /** Forgets all waits; their reads end by themselves. */
  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#waits.clear();
  }

  #checkLater(): () => void {
    return this.#clock.after(this.#limitMs / CHECKS_PER_LIMIT, () => {
      const nowMs = this.#clock.nowMs();
      this.#waits.forEach((wait) => {
        if (nowMs - wait.sinceMs < this.#limitMs) return;
        this.#waits.delete(wait);
        wait.giveUp();
      });
      this.#stopTimer = this.#waits.size > 0 ? this.#checkLater() : undefined;
    });
  }
}
