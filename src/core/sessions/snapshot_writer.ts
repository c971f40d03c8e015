/**
 * Takes a snapshot of a session table that goes on being used, in steps.
 *
 * A session is kept when it is bound to an endpoint that is listed. What comes
 * to a session after its record was passed is not in the snapshot, which is
 * then as good as one that was taken a moment earlier.
 *
 * Invariant: a step takes the same short time whatever the table holds, and
 * nothing of the former steps is kept.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { FAILURES, packBinding, slotOfBinding } from "./binding.ts";
import { ENDPOINTS_MAX } from "../endpoints/endpoint_table.ts";
import { memoryOf } from "../placement/plan_memory.ts";
import type { PoolPlan } from "../placement/pool_plan.ts";
import { secretOf } from "./session_place.ts";
import { FORMAT } from "./session_snapshot.ts";
import type { SessionView } from "./session_sweep.ts";
import type { SessionTable } from "./session_table.ts";
import { encodeHead, SnapshotRefusal } from "./snapshot_head.ts";
import { RECORD_BYTES, SessionRecord } from "./snapshot_record.ts";

/**
 * Records of the table that a step looks at: a millisecond of the main thread
 * when all are live, and 128 KiB of file.
 */
const STEP_RECORDS = 4_096;

/** What is saved. */
export interface SnapshotSource {
  readonly sessions: SessionTable;
  readonly plan: PoolPlan;
  readonly idleTtlMs: number;
  readonly nowMs: number;
}

/** One snapshot in the making. */
export class SnapshotWriter {
  readonly #source: SnapshotSource;
  readonly #head: Uint8Array<ArrayBuffer>;
  readonly #hash = createHash("sha256");
  /** By slot: the binding word that names its endpoint, and which it is. */
  readonly #bindings = new Int32Array(ENDPOINTS_MAX);
  readonly #endpoints = new Uint16Array(ENDPOINTS_MAX);
  readonly #chunk = new Uint8Array(STEP_RECORDS * RECORD_BYTES);
  readonly #view = new DataView(this.#chunk.buffer);
  readonly #record = new SessionRecord();
  #count = 0;

  /** @throws {SnapshotRefusal} when the head is beyond what is read again. */
  constructor(source: SnapshotSource) {
    const { idleTtlMs, nowMs, plan, sessions } = source;
    this.#source = source;
    this.#head = encodeHead({
      writtenAtMs: Math.round(nowMs),
      idleTtlMs,
      capacity: sessions.capacity,
      secret: secretOf(new Int32Array(sessions.buffer)),
      plan: memoryOf(plan),
    });
    if (this.#head.length > FORMAT.headBytesMax) {
      throw new SnapshotRefusal(
        `would have a head of ${this.#head.length} bytes: at most` +
          ` ${FORMAT.headBytesMax} are read`,
      );
    }
    const whole = plan.pools[plan.whole];
    whole?.slots.forEach((slot, index) => {
      this.#bindings[slot] = packBinding(slot, whole.generations[index] ?? -1);
      this.#endpoints[slot] = index;
    });
  }

  /** Sessions that the steps so far have found. */
  get count(): number {
    return this.#count;
  }

  /**
   * The file from its front to its end, one short step for each piece, which
   * is to be used up before the next is asked for. Pieces may be empty. The
   * opening is left blank: see `opening`.
   */
  *pieces(): Generator<Uint8Array<ArrayBuffer>, void, void> {
    yield new Uint8Array(FORMAT.openingBytes);
    this.#hash.update(this.#head);
    yield this.#head;
    let from = 0;
    do {
      const { sessions, nowMs } = this.#source;
      let length = 0;
      const range = { from, count: STEP_RECORDS, nowMs };
      ({ next: from } = sessions.sweep(range, (session) => {
        if (!this.#take(session)) return;
        this.#record.write(this.#view, length);
        length += RECORD_BYTES;
        this.#count++;
      }));
      const piece = this.#chunk.subarray(0, length);
      this.#hash.update(piece);
      yield piece;
    } while (from !== 0);
  }

  /** What the front of the file must be once all pieces have been written. */
  opening(): Uint8Array<ArrayBuffer> {
    const opening = new Uint8Array(FORMAT.openingBytes);
    const view = new DataView(opening.buffer);
    opening.set(FORMAT.name);
    view.setUint32(FORMAT.versionAt, FORMAT.version, true);
    view.setUint32(FORMAT.headBytesAt, this.#head.length, true);
    view.setUint32(FORMAT.countAt, this.#count, true);
    this.#hash.update(opening.subarray(0, FORMAT.digestAt));
    opening.set(this.#hash.digest(), FORMAT.digestAt);
    return opening;
  }

  /** Makes the record that of `session`; false when it is not worth keeping. */
  #take(session: SessionView): boolean {
    const bound = session.bound & ~FAILURES.mask;
    const slot = slotOfBinding(bound);
    if (bound === 0 || this.#bindings[slot] !== bound) return false;
    const record = this.#record;
    record.a = session.a;
    record.b = session.b;
    record.endpoint = this.#endpoints[slot] ?? 0;
    record.idleMs = session.pins > 0 ? 0 : session.lastUseAgeMs;
    record.turns = session.turns;
    record.attainedMs = session.attainedMs;
    record.criticalPathMs = session.criticalPathMs;
    record.waitedMs = session.waitedMs;
    return true;
  }
}
