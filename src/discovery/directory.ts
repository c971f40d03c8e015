/**
 * What is known of the endpoints: their slots, states and models.
 *
 * Kept by the main thread alone. Every change of the pools is published as one
 * whole list, never as a difference, so that no thread can miss a step.
 *
 * Invariant: an endpoint keeps its slot while it is listed, and is `ready` only
 * after it has been reached.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { EndpointSlots, EndpointTable } from "../core/endpoint_table.ts";
import type { Log } from "../core/outside.ts";
import { buildPools, type PoolMapData } from "../core/pool.ts";

/** What a look at an endpoint found. */
export type Sighting =
  | { readonly kind: "unreached"; readonly reason: string }
  | {
    readonly kind: "reached";
    /** The models it lists, or `undefined` when its list cannot be read. */
    readonly models: readonly string[] | undefined;
  };

/** Everything a gateway needs to place requests; can be posted to threads. */
export interface RoutesData {
  readonly pools: PoolMapData;
  /** Endpoints by slot. */
  readonly endpoints: ReadonlyMap<number, EndpointSpec>;
}

/** What a directory is made of. */
export interface DirectoryParts {
  readonly table: EndpointTable;
  readonly slots: EndpointSlots;
  readonly log: Log;
  /** Takes every new list. */
  readonly publish: (routes: RoutesData) => void;
}

/** The endpoints of one gateway. */
export class Directory {
  readonly #parts: DirectoryParts;
  readonly #models = new Map<string, readonly string[] | undefined>();
  #specs: readonly EndpointSpec[] = [];
  #routes: RoutesData | undefined;

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
  }

  /** The current list. */
  get routes(): RoutesData {
    return this.#routes ?? this.#build();
  }

  get endpoints(): readonly EndpointSpec[] {
    return this.#specs;
  }

  /** Takes a whole list of endpoints. */
  replace(specs: readonly EndpointSpec[]): void {
    const { slots, table } = this.#parts;
    this.#specs = specs;
    slots.assign(specs.map((spec) => spec.id));
    for (const spec of specs) {
      table.setLimit(this.slotOf(spec.id), spec.maxInFlight ?? 0);
    }
    const listed = new Set(specs.map((spec) => spec.id));
    for (const id of this.#models.keys()) {
      if (!listed.has(id)) this.#models.delete(id);
    }
    this.#publish();
  }

  /** Takes what was found at one endpoint. */
  report(id: string, sighting: Sighting): void {
    const { log, table } = this.#parts;
    const slot = this.slotOf(id);
    const state = table.state(slot);
    if (sighting.kind === "unreached") {
      if (state !== "ready") return;
      table.setState(slot, "ejected");
      log("warn", "endpoint.ejected", { id, reason: sighting.reason });
      return;
    }
    if (state === "probing" || state === "ejected") {
      table.setState(slot, "ready");
      log("info", "endpoint.ready", { id, models: sighting.models?.length });
    }
    if (sameModels(this.#models.get(id), sighting.models)) return;
    this.#models.set(id, sighting.models);
    this.#publish();
  }

  slotOf(id: string): number {
    const slot = this.#parts.slots.slotOf(id);
    if (slot === undefined) throw new Error(`Cannot find endpoint "${id}"`);
    return slot;
  }

  #publish(): void {
    this.#routes = this.#build();
    this.#parts.publish(this.#routes);
  }

  #build(): RoutesData {
    const endpoints = new Map<number, EndpointSpec>();
    for (const spec of this.#specs) endpoints.set(this.slotOf(spec.id), spec);
    const listed = this.#specs.map((spec) => ({
      id: spec.id,
      slot: this.slotOf(spec.id),
      weight: spec.weight,
      models: this.#models.get(spec.id),
    }));
    return { pools: buildPools(listed, this.#routes?.pools), endpoints };
  }
}

function sameModels(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((model, index) => model === b[index]);
}
