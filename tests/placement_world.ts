/**
 * Everything a placement needs, put together without threads or time.
 *
 * Invariant: only real parts. Randomness is a seeded generator, so that a
 * failure comes again.
 *
 * @module
 */
import { EndpointChoice } from "../src/core/placement/endpoint_choice.ts";
import { EndpointSlots } from "../src/core/endpoints/endpoint_slots.ts";
import { EndpointTable } from "../src/core/endpoints/endpoint_table.ts";
import { hashBytes, type KeyHash } from "../src/core/hash.ts";
import { Ledger } from "../src/core/placement/ledger.ts";
import {
  type Placed,
  Placement,
  type Places,
} from "../src/core/placement/placement.ts";
import { type Pool, Pools } from "../src/core/placement/pool.ts";
import { buildPools, type PoolPlan } from "../src/core/placement/pool_plan.ts";
import type { RoutingPolicyPlugin } from "../src/core/routing_policy.ts";
import { SessionTable } from "../src/core/sessions/session_table.ts";
import { powerOfTwo } from "../src/policies/power_of_two.ts";
import { rendezvous } from "../src/policies/rendezvous.ts";

/** An endpoint of the world: an id, or more. */
export interface WorldEndpoint {
  readonly id: string;
  readonly weight?: number;
  readonly limit?: number;
  readonly models?: readonly string[];
}

/** What a world may be given. */
export interface WorldOptions {
  readonly endpoints: readonly WorldEndpoint[];
  readonly policy?: RoutingPolicyPlugin;
  readonly imbalance?: number;
  readonly idleTtlMs?: number;
  readonly seed?: number;
  /** Records of the session table. */
  readonly capacity?: number;
  /** Who takes places back; the table, unless calls wait. */
  readonly places?: (endpoints: EndpointTable) => Places;
}

/** A gateway's placement, its tables and its endpoints. */
export class World {
  readonly sessions: SessionTable;
  readonly endpoints = new EndpointTable();
  readonly ledger = Ledger.create(4_096);
  readonly choice: EndpointChoice;
  readonly placement: Placement;
  nowMs = 0;
  readonly #slots = new EndpointSlots(this.endpoints);
  #plan: PoolPlan | undefined;
  #pools: Pools | undefined;

  constructor(options: WorldOptions) {
    const random = seededRandom(options.seed ?? 1);
    this.sessions = SessionTable.create({
      capacity: options.capacity ?? 8_192,
      idleTtlMs: options.idleTtlMs ?? 60_000,
      epochMs: 0,
    });
    this.choice = new EndpointChoice({
      sessions: this.sessions,
      endpoints: this.endpoints,
      policy: (options.policy ?? rendezvous).create({ random }),
      fallback: powerOfTwo.create({ random }),
      imbalance: options.imbalance ?? 1.25,
    });
    this.placement = new Placement({
      sessions: this.sessions,
      choice: this.choice,
      ledger: this.ledger,
      places: options.places?.(this.endpoints) ?? this.endpoints,
    });
    this.setEndpoints(options.endpoints);
  }

  /** Makes these the endpoints, all ready. */
  setEndpoints(endpoints: readonly WorldEndpoint[]): void {
    const slots = this.#slots.assign(endpoints.map(({ id }) => id));
    this.#plan = buildPools(
      endpoints.map(({ id, weight, models }) => {
        const at = slots.get(id);
        if (at === undefined) throw new Error(`Cannot find a slot of "${id}"`);
        return { id, weight: weight ?? 1, models, ...at };
      }),
      this.#plan,
    );
    this.#pools = new Pools(this.#plan, this.endpoints);
    for (const { id, limit } of endpoints) {
      const slot = slots.get(id)?.slot ?? 0;
      this.endpoints.setState(slot, "ready");
      this.endpoints.setLimit(slot, limit ?? 0);
    }
  }

  get pools(): Pools {
    if (this.#pools === undefined) throw new Error("Cannot use no endpoints");
    return this.#pools;
  }

  /** The slot of an endpoint. */
  slot(id: string): number {
    return this.pools.whole.slot(this.pools.whole.ids.indexOf(id));
  }

  /** Places one request; throws when it is refused. */
  place(
    key: string | undefined,
    options: { readonly model?: string; readonly tried?: number[] } = {},
  ): Placed {
    const result = this.placement.place({
      key: key === undefined ? undefined : keyOf(key),
      pool: this.pool(options.model),
      nowMs: this.nowMs,
      ...(options.tried === undefined ? {} : { tried: options.tried }),
    });
    if (result.kind === "refused") {
      throw new Error(`Cannot place: ${result.code}`);
    }
    return result;
  }

  /** The id of the endpoint that a request was placed on. */
  idOf(placed: Placed, model?: string): string {
    return this.pool(model).ids[placed.index] ?? "";
  }

  /** A whole call that is answered; returns endpoint and outcome. */
  call(key: string | undefined, model?: string): [string, string] {
    const placed = this.place(key, model === undefined ? {} : { model });
    this.placement.answered(placed);
    this.placement.settle(placed, this.nowMs);
    return [this.idOf(placed, model), placed.outcome];
  }

  pool(model?: string): Pool {
    const pool = this.pools.poolFor(model);
    if (pool === undefined) throw new Error(`Cannot find model "${model}"`);
    return pool;
  }
}

/** The hash of a key given as text. */
export function keyOf(text: string): KeyHash {
  return hashBytes(new TextEncoder().encode(text));
}

/** Numbers in [0, 1) from a seed: Marsaglia's xorshift32 (2003). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 0x100000000;
  };
}
