/**
 * The walk over the session table that only counts: sessions by the slot of
 * the endpoint they are bound to.
 *
 * It is a tenth of the work of a sweep, as it frees nothing, shows nothing and
 * reads without barriers. So a count may be off by the sessions that change
 * while it is made.
 *
 * Invariant: it writes nothing into the table, and counts no session that is
 * idle for too long, whether or not a sweep has freed it.
 *
 * @module
 */
import { slotOfBinding } from "./binding.ts";
import { tagOf } from "./session_owner.ts";
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";
import type { SweepRange } from "./session_sweep.ts";

/** Counts the sessions of one table, from whichever thread. */
export class SessionCount {
  readonly #words: Int32Array;
  readonly #capacity: number;
  readonly #epochMs: number;

  /** @param buffer That of a `SessionTable`. */
  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
    this.#epochMs = new Float64Array(buffer)[LAYOUT.epochMs / 2] ?? 0;
    this.#capacity = LAYOUT.bucketRecords * (this.#words[LAYOUT.buckets] ?? 0);
  }

  /**
   * Adds the live sessions of `range` to `counts`, by slot.
   *
   * @returns Where the next count goes on; 0 after the last record.
   */
  add({ count, from, nowMs }: SweepRange, counts: Uint32Array): number {
    const words = this.#words;
    const now = Math.floor((nowMs - this.#epochMs) / LAYOUT.tickMs) | 0;
    const expired = now - Atomics.load(words, LAYOUT.idleTtlTicks);
    const end = Math.min(this.#capacity, from + count);
    for (let record = from; record < end; record++) {
      if (words[tagOf(record)] === 0) continue;
      const at = fieldsOf(record);
      const bound = words[at + FIELD.bound] ?? 0;
      if (bound === 0) continue;
      const lastUse = words[at + FIELD.lastUse] ?? 0;
      if (words[at + FIELD.pins] === 0 && lastUse <= expired) continue;
      const slot = slotOfBinding(bound);
      counts[slot] = (counts[slot] ?? 0) + 1;
    }
    return end >= this.#capacity ? 0 : end;
  }
}
