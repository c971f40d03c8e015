/**
 * Session tables, what is in them, and snapshots of them as bytes.
 *
 * Invariant: tables and lists of endpoints are made by the code that the
 * gateway makes them by.
 *
 * @module
 */
import { packBinding } from "../src/core/sessions/binding.ts";
import type { KeyHash } from "../src/core/hash.ts";
import { buildPools, type PoolPlan } from "../src/core/placement/pool_plan.ts";
import {
  FIELD,
  fieldsOf,
  LAYOUT,
} from "../src/core/sessions/session_record.ts";
import { SessionRestore } from "../src/core/sessions/session_restore.ts";
import { openSnapshot } from "../src/core/sessions/session_snapshot.ts";
import { SessionTable } from "../src/core/sessions/session_table.ts";
import { drawPlaceSecret } from "../src/system/place_secret.ts";
import type { SnapshotPieces } from "../src/stores/snapshot_file.ts";
import { SnapshotWriter } from "../src/core/sessions/snapshot_writer.ts";

/** Idle time of sessions. */
export const TTL_MS = 60_000;

/** Endpoints by id, with the slot and generation that each has. */
export type Slots = Readonly<Record<string, readonly [number, number]>>;

/** A session as a test gives it. */
export interface Given {
  readonly key: KeyHash;
  /** Id of the endpoint; `undefined` for a session without a binding. */
  readonly endpoint: string | undefined;
  readonly lastUseMs: number;
  readonly turns?: number;
  /** Attained service, critical path, waited. */
  readonly service?: readonly [number, number, number];
}

/** A gateway's sessions and endpoints. */
export class SnapshotSite {
  readonly table: SessionTable;
  readonly plan: PoolPlan;
  readonly #epochMs: number;
  readonly #slots: Slots;
  readonly #words: Int32Array;

  constructor(
    slots: Slots,
    options: { readonly capacity: number; readonly startMs: number },
  ) {
    const { capacity, startMs } = options;
    this.#epochMs = startMs - TTL_MS;
    this.table = SessionTable.create({
      capacity,
      idleTtlMs: TTL_MS,
      epochMs: this.#epochMs,
      secret: drawPlaceSecret(),
    });
    this.#words = new Int32Array(this.table.buffer);
    this.#slots = slots;
    this.plan = buildPools(
      Object.entries(slots).map(([id, [slot, generation]]) => (
        { id, weight: 1, slot, generation, models: undefined }
      )),
    );
  }

  bindingOf(id: string): number {
    const found = this.#slots[id];
    return found === undefined ? 0 : packBinding(...found);
  }

  /** Puts a session into the table; false when there is no room. */
  put(given: Given): boolean {
    const { endpoint, key, lastUseMs, service = [0, 0, 0], turns = 1 } = given;
    const record = this.table.pin(key, lastUseMs);
    if (record < 0) return false;
    if (endpoint !== undefined) {
      this.table.confirm(record, 0, this.bindingOf(endpoint));
    }
    const at = fieldsOf(record);
    this.#words[at + FIELD.turns] = turns;
    this.#words[at + FIELD.attainedService] = service[0];
    this.#words[at + FIELD.criticalPath] = service[1];
    this.#words[at + FIELD.waited] = service[2];
    this.table.unpin(record, lastUseMs);
    return true;
  }

  /** The session of a key; `undefined` when there is none. */
  get(key: KeyHash): Required<Given> | undefined {
    const record = this.table.find(key);
    if (record < 0) return undefined;
    const at = fieldsOf(record);
    const bound = this.table.binding(record);
    const word = (field: number) => this.#words[at + field] ?? 0;
    return {
      key,
      endpoint: Object.keys(this.#slots)
        .find((id) => this.bindingOf(id) === bound),
      lastUseMs: this.#epochMs + word(FIELD.lastUse) * LAYOUT.tickMs,
      turns: word(FIELD.turns),
      service: [
        word(FIELD.attainedService),
        word(FIELD.criticalPath),
        word(FIELD.waited),
      ],
    };
  }

  writer(nowMs: number): SnapshotWriter {
    return new SnapshotWriter({
      sessions: this.table,
      plan: this.plan,
      idleTtlMs: TTL_MS,
      nowMs,
    });
  }

  /** The whole file. */
  snapshot(nowMs: number): Uint8Array<ArrayBuffer> {
    return fileOf(this.writer(nowMs));
  }

  /** Restores a file at once. */
  restore(bytes: Uint8Array, nowMs: number): SessionRestore["report"] {
    const restore = new SessionRestore({
      snapshot: openSnapshot(bytes),
      sessions: this.table,
      idleTtlMs: TTL_MS,
      bindingOf: (id) => this.bindingOf(id),
      nowMs,
    });
    while (restore.step());
    return restore.report;
  }
}

/** Puts pieces together as a disk does. */
export function fileOf(snapshot: SnapshotPieces): Uint8Array<ArrayBuffer> {
  const bytes: number[] = [];
  for (const piece of snapshot.pieces()) bytes.push(...piece);
  const file = Uint8Array.from(bytes);
  file.set(snapshot.opening());
  return file;
}
