/**
 * Puts the sessions of a snapshot back into a session table, in steps.
 *
 * Each session goes through the table's own claim, so the table may be in use:
 * a session that has come back before its record is reached keeps what it has.
 * Where a bucket is full its longest idle session gives way, as for any new
 * one. An empty table takes over the secret that buckets are chosen by
 * (`session_place.ts`): with the same capacity every session then has its
 * former bucket, and room in it. In any other table records are put back
 * oldest first, so that the youngest stay.
 *
 * The time since the snapshot counts as idle time. A snapshot from the future
 * was taken before the machine's clock was set back: nobody knows how far, so
 * it counts as taken just now.
 *
 * Invariant: a session is bound to the endpoint that it was bound to, or not
 * restored at all, and none is restored for longer than it had left.
 *
 * @module
 */
import { takeSecret } from "./session_place.ts";
import { FIELD, fieldsOf } from "./session_record.ts";
import type { Snapshot } from "./session_snapshot.ts";
import type { SessionTable } from "./session_table.ts";
import { SessionRecord } from "./snapshot_record.ts";

/** Records of a step: some milliseconds of the main thread. */
const STEP_RECORDS = 4_096;

/** Words of the table are signed. */
const WORD_MAX = 2 ** 31 - 1;

/** What is restored, and where to. */
export interface RestoreParts {
  readonly snapshot: Snapshot;
  readonly sessions: SessionTable;
  /** Idle time after which a session is not worth restoring. */
  readonly idleTtlMs: number;
  /** The binding word of an endpoint by its id; 0 when it is not listed. */
  readonly bindingOf: (id: string) => number;
  /** No earlier than the epoch of the table plus the idle time. */
  readonly nowMs: number;
}

/** What has come of the records so far. */
export interface RestoreReport {
  readonly restored: number;
  /** Idle for too long by now. */
  readonly expired: number;
  /** Bound to an endpoint that is not listed any more. */
  readonly unlisted: number;
  /** Come back by themselves, or without room in their bucket. */
  readonly passedBy: number;
}

/** One snapshot on its way back. */
export class SessionRestore {
  readonly #parts: RestoreParts;
  readonly #words: Int32Array;
  /** Binding words by endpoint of the head. */
  readonly #bindings: readonly number[];
  readonly #order: Uint32Array | undefined;
  readonly #elapsedMs: number;
  readonly #record = new SessionRecord();
  readonly #counts = { restored: 0, expired: 0, unlisted: 0, passedBy: 0 };
  #next = 0;

  /** MUST be made before other threads use the table, if it is empty. */
  constructor(parts: RestoreParts) {
    const { bindingOf, nowMs, sessions, snapshot } = parts;
    const { capacity, plan, secret, writtenAtMs } = snapshot.head;
    this.#parts = parts;
    this.#words = new Int32Array(sessions.buffer);
    this.#bindings = plan.endpoints.map(bindingOf);
    this.#elapsedMs = Math.max(0, nowMs - writtenAtMs);
    const isEmpty = sessions.gauges().occupied === 0;
    if (isEmpty) takeSecret(this.#words, secret);
    this.#order = isEmpty && capacity === sessions.capacity
      ? undefined
      : oldestFirst(snapshot);
  }

  /** Restores some more; false when there are none left. */
  step(): boolean {
    const { snapshot } = this.#parts;
    const end = Math.min(snapshot.count, this.#next + STEP_RECORDS);
    for (; this.#next < end; this.#next++) {
      snapshot.read(this.#order?.[this.#next] ?? this.#next, this.#record);
      this.#counts[this.#put(this.#record)]++;
    }
    return end < snapshot.count;
  }

  /** What the steps so far came to. */
  get report(): RestoreReport {
    return { ...this.#counts };
  }

  #put(record: SessionRecord): keyof RestoreReport {
    const { idleTtlMs, nowMs, sessions } = this.#parts;
    const idleMs = record.idleMs + this.#elapsedMs;
    if (idleMs >= idleTtlMs) return "expired";
    const binding = this.#bindings[record.endpoint] ?? 0;
    if (binding === 0) return "unlisted";
    const held = sessions.pin(record, nowMs);
    if (held < 0) return "passedBy";
    const isNew = sessions.pins(held) === 1 && sessions.binding(held) === 0 &&
      sessions.turns(held) === 0;
    if (!isNew) {
      sessions.unpin(held, nowMs);
      return "passedBy";
    }
    this.#fill(held, record);
    sessions.confirm(held, 0, binding);
    // With the last hold the record gets the time that it was last used.
    sessions.unpin(held, nowMs - idleMs);
    return "restored";
  }

  #fill(held: number, record: SessionRecord): void {
    const at = fieldsOf(held);
    const { attainedService, criticalPath, turns, waited } = FIELD;
    const put = (field: number, value: number) =>
      Atomics.store(this.#words, at + field, Math.min(WORD_MAX, value));
    put(turns, record.turns);
    put(attainedService, record.attainedMs);
    put(criticalPath, record.criticalPathMs);
    put(waited, record.waitedMs);
  }
}

/** The indexes of all records, the longest idle first. */
function oldestFirst({ count, read }: Snapshot): Uint32Array {
  const record = new SessionRecord();
  const idleMs = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    read(index, record);
    idleMs[index] = record.idleMs;
  }
  return Uint32Array.from(idleMs.keys())
    .sort((one, other) => (idleMs[other] ?? 0) - (idleMs[one] ?? 0));
}
