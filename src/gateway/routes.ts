/**
 * Where requests can go right now: the pools and what each endpoint slot is.
 *
 * Invariant: a new list replaces the old one at once, between two requests;
 * a request that has been admitted keeps the target it was given.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { EndpointTable } from "../core/endpoints/endpoint_table.ts";
import { hashBytes, shortHash } from "../core/hash.ts";
import type { Address } from "../core/outside.ts";
import { type Pool, Pools } from "../core/placement/pool.ts";
import type { PoolPlan } from "../core/placement/pool_plan.ts";

/** Everything a gateway needs to place requests; can be posted to threads. */
export interface RoutesData {
  readonly plan: PoolPlan;
  /** Endpoints by slot. */
  readonly endpoints: ReadonlyMap<number, EndpointSpec>;
}

/** An endpoint as an attempt needs it. */
export interface Target {
  readonly id: string;
  /** What clients are told: the id, unless that is an address. */
  readonly publicId: string;
  readonly address: Address;
  readonly basePath: string;
  readonly host: string;
  /** Whether a request goes on to its end when its client has left. */
  readonly finishes: boolean;
}

/** The current pools and targets of one gateway. */
export class Routes {
  readonly #table: EndpointTable;
  #pools: Pools;
  #targets: ReadonlyMap<number, Target>;

  constructor(table: EndpointTable, data: RoutesData) {
    this.#table = table;
    this.#pools = new Pools(data.plan, table);
    this.#targets = targetsOf(data.endpoints);
  }

  /** Takes over a new list. */
  replace(data: RoutesData): void {
    this.#pools = new Pools(data.plan, this.#table);
    this.#targets = targetsOf(data.endpoints);
  }

  /** Whether the pool depends on the model. */
  get needsModel(): boolean {
    return this.#pools.all.length > 1;
  }

  /** The pool of a model; the whole pool for none, `undefined` if unknown. */
  poolFor(model: string | undefined): Pool | undefined {
    return this.#pools.poolFor(model);
  }

  target(slot: number): Target | undefined {
    return this.#targets.get(slot);
  }
}

function targetsOf(
  endpoints: ReadonlyMap<number, EndpointSpec>,
): Map<number, Target> {
  const targets = new Map<number, Target>();
  for (const [slot, spec] of endpoints) {
    targets.set(slot, {
      id: spec.id,
      publicId: publicId(spec.id),
      address: spec.address,
      basePath: spec.basePath,
      host: spec.host,
      finishes: spec.onDisconnect === "finish",
    });
  }
  return targets;
}

/** An id that is a URL or a path says where the engine is; its hash does not. */
function publicId(id: string): string {
  if (!id.includes("/")) return id;
  return `ep-${shortHash(hashBytes(new TextEncoder().encode(id)))}`;
}
