/**
 * A state directory as a gateway leaves it that has served many sessions.
 *
 * Sessions are bound to endpoints at random, so that one which meets its own
 * after a restart does not do so by its hash.
 *
 * Invariant: a session that is said to be bound is in the file.
 *
 * @module
 */
import { packBinding } from "../../src/core/sessions/binding.ts";
import { finalize32, hashBytes, type KeyHash } from "../../src/core/hash.ts";
import { buildPools } from "../../src/core/placement/pool_plan.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { SnapshotWriter } from "../../src/core/sessions/snapshot_writer.ts";
import { SnapshotFile } from "../../src/stores/snapshot_file.ts";
import { drawPlaceSecret } from "../../src/system/place_secret.ts";

/** What is in the directory. */
export interface SeedOptions {
  readonly directory: string;
  /** Ids of the endpoints, which all serve `models`. */
  readonly endpoints: readonly string[];
  readonly models: readonly string[];
  readonly sessions: number;
  readonly capacity: number;
  readonly idleTtlMs: number;
}

/** A session, and where it has to go. */
export interface SeededSession {
  readonly key: string;
  readonly endpoint: string;
}

/** Writes the snapshot; resolves to its sessions. */
export async function seedState(
  options: SeedOptions,
): Promise<readonly SeededSession[]> {
  const { capacity, directory, endpoints, idleTtlMs, models } = options;
  const nowMs = Date.now();
  const epochMs = nowMs - idleTtlMs;
  const secret = drawPlaceSecret();
  const table = { capacity, idleTtlMs, epochMs, secret };
  const sessions = SessionTable.create(table);
  const keys: string[] = [];
  // Some give way to others in a full bucket: those do not count.
  for (let n = 0; sessions.gauges().occupied < options.sessions; n++) {
    const key = `session-${n}`;
    const record = sessions.pin(hashOf(key), nowMs);
    sessions.confirm(record, 0, packBinding(placeOf(n, endpoints), 1));
    sessions.addTurn(record);
    sessions.unpin(record, nowMs);
    keys.push(key);
  }
  const planned = endpoints.map((id, slot) => (
    { id, weight: 1, slot, generation: 1, models }
  ));
  const plan = buildPools(planned);
  await new SnapshotFile(directory)
    .write(new SnapshotWriter({ sessions, plan, idleTtlMs, nowMs }));
  return keys.flatMap((key, n) =>
    sessions.find(hashOf(key)) < 0
      ? []
      : [{ key, endpoint: endpoints[placeOf(n, endpoints)] ?? "" }]
  );
}

function hashOf(key: string): KeyHash {
  return hashBytes(new TextEncoder().encode(key));
}

function placeOf(n: number, endpoints: readonly string[]): number {
  return (finalize32(n) >>> 0) % endpoints.length;
}
