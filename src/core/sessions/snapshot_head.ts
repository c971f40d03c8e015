/**
 * The head of a snapshot: when it was taken, and what its records refer to.
 *
 * It is JSON, because it is small, read once, and all of it is text and lists.
 * Whoever reads a head has seen the checksum hold before, so what is wrong in
 * it was written so; it is still checked through, as the indexes in it are
 * used on arrays.
 *
 * Invariant: a head that is parsed refers to nothing that is not in it.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "../endpoints/endpoint_table.ts";
import type { PlanMemory, PoolMemory } from "../placement/plan_memory.ts";
import type { PlaceSecret } from "./session_place.ts";

/** Times and counts; what a double keeps exactly. */
const COUNT_BOUNDS = { min: 0, max: Number.MAX_SAFE_INTEGER };

/** Seeds and secrets are signed words. */
const WORD_BOUNDS = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/** Everything of a snapshot but its sessions. */
export interface SnapshotHead {
  /** Milliseconds since the Unix epoch at which sessions were looked at. */
  readonly writtenAtMs: number;
  /** The idle time in force then. */
  readonly idleTtlMs: number;
  /** Records of the table that was saved. */
  readonly capacity: number;
  /** What its buckets were chosen by: see `session_place.ts`. */
  readonly secret: PlaceSecret;
  readonly plan: PlanMemory;
}

/** A file that is no snapshot which this program can use, and why. */
export class SnapshotRefusal extends Error {
  override readonly name = "SnapshotRefusal";
}

/** Writes a head. */
export function encodeHead(head: SnapshotHead): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(head));
}

/** @throws {SnapshotRefusal} that names what is wrong. */
export function parseHead(bytes: Uint8Array): SnapshotHead {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new SnapshotRefusal("has a head that is not JSON");
  }
  const head = mapping(value, "head");
  return {
    writtenAtMs: whole(head["writtenAtMs"], {
      name: "writtenAtMs",
      ...COUNT_BOUNDS,
    }),
    idleTtlMs: whole(head["idleTtlMs"], { name: "idleTtlMs", ...COUNT_BOUNDS }),
    capacity: whole(head["capacity"], { name: "capacity", ...COUNT_BOUNDS }),
    secret: secretIn(mapping(head["secret"], "secret")),
    plan: planIn(mapping(head["plan"], "plan")),
  };
}

type Mapping = Readonly<Record<string, unknown>>;

function secretIn({ low, high }: Mapping): PlaceSecret {
  return {
    low: whole(low, { name: "low", ...WORD_BOUNDS }),
    high: whole(high, { name: "high", ...WORD_BOUNDS }),
  };
}

function planIn(plan: Mapping): PlanMemory {
  const endpoints = texts(plan, "endpoints");
  if (endpoints.length > ENDPOINTS_MAX) {
    throw new SnapshotRefusal(
      `names ${endpoints.length} endpoints: at most ${ENDPOINTS_MAX}`,
    );
  }
  const pools = list(plan, "pools").map((pool): PoolMemory => {
    const inside = mapping(pool, "pools");
    return {
      name: text(inside["name"], "name"),
      seed: whole(inside["seed"], { name: "seed", ...WORD_BOUNDS }),
      members: list(inside, "members").map((member) =>
        whole(member, { name: "members", min: 0, max: endpoints.length - 1 })
      ),
      models: texts(inside, "models"),
    };
  });
  const last = pools.length - 1;
  return {
    endpoints,
    pools,
    whole: whole(plan["whole"], { name: "whole", min: 0, max: last }),
    unlisted: whole(plan["unlisted"], { name: "unlisted", min: -1, max: last }),
  };
}

function mapping(value: unknown, name: string): Mapping {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Mapping;
  }
  throw new SnapshotRefusal(`has a "${name}" that is no mapping`);
}

function list(inside: Mapping, name: string): readonly unknown[] {
  const value = inside[name];
  if (Array.isArray(value)) return value;
  throw new SnapshotRefusal(`has a "${name}" that is no list`);
}

function texts(inside: Mapping, name: string): string[] {
  return list(inside, name).map((value) => text(value, name));
}

function text(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new SnapshotRefusal(`has a "${name}" that is no text`);
}

/** A whole number within bounds, both included. */
function whole(
  value: unknown,
  { name, min, max }: { name: string; min: number; max: number },
): number {
  const isGood = typeof value === "number" && Number.isSafeInteger(value) &&
    value >= min && value <= max;
  if (isGood) return value;
  throw new SnapshotRefusal(
    `has a "${name}" that is no whole number from ${min} to ${max}`,
  );
}
