/**
 * Where requests can go right now: the pools and what each endpoint slot is.
 *
 * Invariant: a new list replaces the old one at once, between two requests;
 * a request that has been admitted keeps the target it was given.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import { hashBytes, shortHash } from "../core/hash.ts";
import type { Address } from "../core/outside.ts";
import type { Pool, PoolMap } from "../core/pool.ts";

/** An endpoint as an attempt needs it. */
export interface Target {
  readonly id: string;
  /** What clients are told: the id, unless that is an address. */
  readonly publicId: string;
  readonly address: Address;
  readonly basePath: string;
  readonly host: string;
}

/** The current pools and targets of one gateway. */
export class Routes {
  #pools: PoolMap;
  #targets: ReadonlyMap<number, Target>;

  constructor(
    pools: PoolMap,
    endpoints: ReadonlyMap<number, EndpointSpec>,
  ) {
    this.#pools = pools;
    this.#targets = targetsOf(endpoints);
  }

  /** Takes over a new list; `endpoints` by slot. */
  replace(
    pools: PoolMap,
    endpoints: ReadonlyMap<number, EndpointSpec>,
  ): void {
    this.#pools = pools;
    this.#targets = targetsOf(endpoints);
  }

  /** Whether the pool depends on the model. */
  get needsModel(): boolean {
    return this.#pools.needsModel;
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
    });
  }
  return targets;
}

/** An id that is a URL or a path says where the engine is; its hash does not. */
function publicId(id: string): string {
  if (!id.includes("/")) return id;
  return `ep-${shortHash(hashBytes(new TextEncoder().encode(id)))}`;
}
