/**
 * Counts the live sessions of each endpoint, by walking over the session
 * table again and again, and sweeps it on the way.
 *
 * A step counts as much as its share of the main thread allows: all of the
 * default table, and a thirtieth of the largest. The first walk, and those
 * while the table is filled or emptied at once, as by a restore, take quick
 * steps: gauges would tell of no sessions, or of former ones, for seconds.
 *
 * Invariant: what is shown is of one whole walk, never half of one.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "../core/endpoints/endpoint_table.ts";
import type { Clock } from "../core/outside.ts";
import { SessionCount } from "../core/sessions/session_count.ts";
import type { SessionTable } from "../core/sessions/session_table.ts";

/** Milliseconds between two steps of the walk. */
const STEP_MS = 250;

/** The same in a hurry: the largest table then takes about a second. */
const QUICK_STEP_MS = 20;

/** What a step may take of the main thread: 2 %. */
const STEP_BUSY_MS = 5;

/**
 * Records that a step counts at most: 5 ms if all are in use. The largest
 * table, of 2^24, takes 32 steps, which is 8 s.
 */
const STEP_RECORDS = 2 ** 19;

/** Records between two looks at the time: well below a millisecond. */
const CHUNK_RECORDS = 2 ** 15;

/**
 * Records that a step sweeps, at a tenth of a microsecond each. Sweeping only
 * saves room, so it has time: 8 s for the default table, 9 min for the largest.
 */
const SWEEP_RECORDS = 8_192;

/** What makes a walk hurry: the sessions have changed by so many and more. */
const JUMP_SHARE = 1 / 8;
const JUMP_MIN = 64;

/** What a census is made of. */
export interface SessionCensusParts {
  readonly sessions: SessionTable;
  readonly clock: Clock;
}

/** The census of one table. */
export class SessionCensus {
  readonly #parts: SessionCensusParts;
  readonly #count: SessionCount;
  /** By endpoint slot, of the last whole walk. */
  #counted = newCounts();
  /** The same of the walk under way, and where it goes on. */
  #counts = newCounts();
  #next = 0;
  /** Records in use when it began. */
  #occupiedBefore = 0;
  #isQuick = true;
  #sweepNext = 0;
  #cancel: () => void = () => {};

  constructor(parts: SessionCensusParts) {
    this.#parts = parts;
    this.#count = new SessionCount(parts.sessions.buffer);
  }

  /** Walks until it is stopped. */
  start(): void {
    this.#sweep();
    this.#step();
    const delayMs = this.#isQuick ? QUICK_STEP_MS : STEP_MS;
    this.#cancel = this.#parts.clock.after(delayMs, () => this.start());
  }

  stop(): void {
    this.#cancel();
  }

  /** Live sessions bound to the endpoint in a slot. */
  boundTo(slot: number): number {
    return this.#counted[slot] ?? 0;
  }

  #sweep(): void {
    const { clock, sessions } = this.#parts;
    const { next } = sessions.sweep({
      from: this.#sweepNext,
      count: SWEEP_RECORDS,
      nowMs: clock.nowMs(),
    }, () => {});
    this.#sweepNext = next;
  }

  #step(): void {
    const { clock } = this.#parts;
    const nowMs = clock.nowMs();
    for (let counted = 0; counted < STEP_RECORDS; counted += CHUNK_RECORDS) {
      this.#next = this.#count.add(
        { from: this.#next, count: CHUNK_RECORDS, nowMs },
        this.#counts,
      );
      if (this.#next === 0) return this.#end();
      if (clock.nowMs() - nowMs >= STEP_BUSY_MS) break;
    }
    this.#isQuick ||= this.#hasJumped();
  }

  /** Shows the walk; what changed much since it began is walked at once. */
  #end(): void {
    [this.#counted, this.#counts] = [this.#counts, this.#counted];
    this.#counts.fill(0);
    this.#isQuick = this.#hasJumped();
    this.#occupiedBefore = this.#occupied();
  }

  #hasJumped(): boolean {
    const occupied = this.#occupied();
    const change = Math.abs(occupied - this.#occupiedBefore);
    return change >= Math.max(JUMP_MIN, JUMP_SHARE * occupied);
  }

  #occupied(): number {
    return this.#parts.sessions.gauges().occupied;
  }
}

function newCounts(): Uint32Array {
  return new Uint32Array(ENDPOINTS_MAX);
}
