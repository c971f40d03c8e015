/**
 * Counts the live sessions of each endpoint, by walking over the session
 * table again and again.
 *
 * Invariant: what is shown is of one whole walk, never half of one.
 *
 * @module
 */
import { slotOfBinding } from "../core/binding.ts";
import { ENDPOINTS_MAX } from "../core/endpoint_table.ts";
import type { Clock } from "../core/outside.ts";
import type { SessionTable } from "../core/session_table.ts";

/** Milliseconds between two steps of the walk. */
const STEP_MS = 250;

/**
 * Records a step looks at: well below a millisecond of the main thread. The
 * default table takes 8 s, which is how old its gauges may be.
 */
const STEP_RECORDS = 8_192;

/** What a census is made of. */
export interface SessionCensusParts {
  readonly sessions: SessionTable;
  readonly clock: Clock;
}

/** The census of one table. */
export class SessionCensus {
  readonly #parts: SessionCensusParts;
  /** By endpoint slot, of the last whole walk. */
  #counted: readonly number[] = newCounts();
  /** The same of the walk under way, and where it goes on. */
  #counts = newCounts();
  #next = 0;
  #cancel: () => void = () => {};

  constructor(parts: SessionCensusParts) {
    this.#parts = parts;
  }

  /** Walks until it is stopped. */
  start(): void {
    const { clock } = this.#parts;
    this.#step();
    this.#cancel = clock.after(STEP_MS, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }

  /** Live sessions bound to the endpoint in a slot. */
  boundTo(slot: number): number {
    return this.#counted[slot] ?? 0;
  }

  /** All of them. */
  get live(): number {
    return this.#counted.reduce((sum, count) => sum + count, 0);
  }

  #step(): void {
    const { clock, sessions } = this.#parts;
    const counts = this.#counts;
    const { next } = sessions.sweep(
      { from: this.#next, count: STEP_RECORDS, nowMs: clock.nowMs() },
      ({ bound }) => {
        if (bound === 0) return;
        const slot = slotOfBinding(bound);
        counts[slot] = (counts[slot] ?? 0) + 1;
      },
    );
    this.#next = next;
    if (next !== 0) return;
    this.#counted = counts;
    this.#counts = newCounts();
  }
}

function newCounts(): number[] {
  return new Array(ENDPOINTS_MAX).fill(0);
}
