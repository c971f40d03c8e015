/**
 * What the session table costs with a million sessions in it, and what a whole
 * placement costs.
 *
 * Run with `deno bench -A bench/session_table_bench.ts`. Wanted: look-up and
 * touch under 1.2 us, at most 96 bytes a session.
 *
 * Invariant: keys are visited in a random order, so that a look-up finds its
 * cache lines cold, as in traffic.
 *
 * @module
 */
import { packBinding } from "../src/core/sessions/binding.ts";
import { EndpointChoice } from "../src/core/placement/endpoint_choice.ts";
import { EndpointTable } from "../src/core/endpoints/endpoint_table.ts";
import type { KeyHash } from "../src/core/hash.ts";
import { Ledger } from "../src/core/placement/ledger.ts";
import { Placement } from "../src/core/placement/placement.ts";
import { Pools } from "../src/core/placement/pool.ts";
import { buildPools } from "../src/core/placement/pool_plan.ts";
import { finalize32 } from "../src/core/hash.ts";
import { SessionTable } from "../src/core/sessions/session_table.ts";
import { powerOfTwo } from "../src/policies/power_of_two.ts";
import { rendezvous } from "../src/policies/rendezvous.ts";

/** About a million, and a power of two for a cheap turn. */
const SESSIONS = 2 ** 20;

/** Twice the sessions: a bucket of 8 then overflows for 0.8 % of them. */
const CAPACITY = 2 ** 21;

function keyOf(index: number): KeyHash {
  return { a: finalize32(index + 1), b: finalize32(index ^ 0x5bd1e995) };
}

const table = SessionTable.create({
  capacity: CAPACITY,
  idleTtlMs: 1_800_000,
  epochMs: 0,
});
for (let index = 0; index < SESSIONS; index++) {
  const record = table.pin(keyOf(index), 0);
  table.confirm(record, 0, packBinding(index & 7, 0));
  table.unpin(record, 0);
}
let turn = 0;

/** The next of all sessions, in an order that no prefetcher foresees. */
function nextKey(): KeyHash {
  // A full period of 2^20: odd step, multiplier 1 modulo 4 (Hull and Dobell).
  turn = (Math.imul(turn, 1_664_525) + 1_013_904_223) & (SESSIONS - 1);
  return keyOf(turn);
}

let sink = 0;

Deno.bench({
  name: "making the key of the next session",
  group: "1,048,576 sessions",
  fn() {
    sink ^= nextKey().a;
  },
});

Deno.bench({
  name: "pin, read the binding, unpin",
  group: "1,048,576 sessions",
  baseline: true,
  fn() {
    const record = table.pin(nextKey(), 1_000);
    if (record < 0) return;
    sink ^= table.binding(record);
    table.unpin(record, 1_000);
  },
});

const SETTLED = { inheritedMs: 0, inheritedWaitMs: 0, serviceMs: 3, waitMs: 2 };

Deno.bench({
  name: "pin, read the binding, add a call's service, unpin",
  group: "1,048,576 sessions",
  fn() {
    const record = table.pin(nextKey(), 1_000);
    if (record < 0) return;
    sink ^= table.binding(record);
    table.addService(record, SETTLED);
    table.unpin(record, 1_000);
  },
});

const warm = table.pin(keyOf(0), 1_000);
const growing = { ...SETTLED };

Deno.bench({
  name: "add a call's service to a session in the cache",
  group: "1,048,576 sessions",
  fn() {
    growing.inheritedMs = table.criticalPathMs(warm);
    growing.inheritedWaitMs = table.waitedMs(warm);
    table.addService(warm, growing);
  },
});

let fresh = SESSIONS;
Deno.bench({
  name: "pin and unpin of a new session",
  group: "1,048,576 sessions",
  fn() {
    const record = table.pin(keyOf(fresh++), 1_000);
    if (record >= 0) table.unpin(record, 1_000);
  },
});

Deno.bench({
  name: "pin, end and unpin of a new session",
  group: "1,048,576 sessions",
  fn() {
    const record = table.pin(keyOf(fresh++), 1_000);
    if (record < 0) return;
    table.end(record);
    table.unpin(record, 1_000);
  },
});

let sweptTo = 0;
Deno.bench({
  name: "sweep of 1,024 records, half of them in use",
  group: "1,048,576 sessions",
  fn() {
    const range = { from: sweptTo, count: 1_024, nowMs: 1_000 };
    sweptTo = table.sweep(range, ({ bound }) => sink ^= bound).next;
  },
});

const endpoints = new EndpointTable();
const pool = new Pools(
  buildPools(Array.from({ length: 8 }, (_, slot) => {
    endpoints.setState(slot, "ready");
    const id = `http://127.0.0.1:${8000 + slot}`;
    return { id, weight: 1, slot, generation: 0, models: undefined };
  })),
  endpoints,
).whole;
const placement = new Placement({
  sessions: table,
  choice: new EndpointChoice({
    sessions: table,
    endpoints,
    policy: rendezvous.create({ random: Math.random }),
    fallback: powerOfTwo.create({ random: Math.random }),
    imbalance: 1.25,
  }),
  ledger: new Ledger(),
  places: endpoints,
});

/** A whole placement of a request that is answered. */
function placeAndSettle(key: KeyHash | undefined): void {
  const placed = placement.place({ key, pool, nowMs: 1_000 });
  if (placed.kind === "refused") return;
  placement.answered(placed);
  placement.settle(placed, 1_000);
}

Deno.bench({
  name: "known session",
  group: "place, answered, settle with 8 endpoints",
  fn: () => placeAndSettle(nextKey()),
});

Deno.bench({
  name: "new session",
  group: "place, answered, settle with 8 endpoints",
  fn: () => placeAndSettle(keyOf(fresh++)),
});

Deno.bench({
  name: "no key",
  group: "place, answered, settle with 8 endpoints",
  fn: () => placeAndSettle(undefined),
});
