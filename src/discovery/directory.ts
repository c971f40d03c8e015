/**
 * What is known of the endpoints: their slots and models.
 *
 * Kept by the main thread alone. Every change of the pools is published as one
 * whole list, never as a difference, so that no thread can miss a step.
 *
 * Invariant: an endpoint keeps its slot while it is listed. Whether it takes
 * work is not decided here, but in `health_book.ts`.
 *
 * @module
 */
import { packBinding } from "../core/sessions/binding.ts";
import type { CapacityTable } from "../core/endpoints/capacity_table.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import {
  type EndpointSlot,
  EndpointSlots,
} from "../core/endpoints/endpoint_slots.ts";
import type { EndpointTable } from "../core/endpoints/endpoint_table.ts";
import type { Log } from "../core/outside.ts";
import {
  formerPlanOf,
  modelsByEndpoint,
  type PlanMemory,
} from "../core/placement/plan_memory.ts";
import { buildPools, type FormerPlan } from "../core/placement/pool_plan.ts";
import type { RoutesData } from "../gateway/routes.ts";

/** What a directory is made of. */
export interface DirectoryParts {
  readonly table: EndpointTable;
  readonly capacity: CapacityTable;
  readonly log: Log;
  /** Takes every new list. */
  readonly publish: (routes: RoutesData) => void;
}

/** The endpoints of one gateway. */
export class Directory {
  readonly #parts: DirectoryParts;
  readonly #slots: EndpointSlots;
  readonly #models = new Map<string, readonly string[] | undefined>();
  #specs: readonly EndpointSpec[] = [];
  #assigned: ReadonlyMap<string, EndpointSlot> = new Map();
  #routes: RoutesData;
  /** The plan that the next one inherits from, if not the current one. */
  #former: FormerPlan | undefined;

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
    this.#slots = new EndpointSlots(parts.table);
    this.#routes = { plan: buildPools([]), endpoints: new Map() };
  }

  /** The current list. */
  get routes(): RoutesData {
    return this.#routes;
  }

  get endpoints(): readonly EndpointSpec[] {
    return this.#specs;
  }

  /**
   * Takes over what a former gateway knew, before the first list: pools keep
   * their bindings, and endpoints count as listing the models that they did
   * until they are asked.
   */
  remember(memory: PlanMemory): void {
    this.#former = formerPlanOf(memory);
    for (const [id, models] of modelsByEndpoint(memory)) {
      this.#models.set(id, models);
    }
  }

  /**
   * Takes a whole list of endpoints. The limit of one that was listed is left
   * alone while the list says the same of it: it may have been learned, or set
   * since.
   *
   * @throws {RangeError} when there is no slot left for one; then nothing has
   * changed.
   */
  replace(specs: readonly EndpointSpec[]): void {
    this.#assigned = this.#slots.assign(specs.map((spec) => spec.id));
    const former = new Map(this.#specs.map((spec) => [spec.id, spec]));
    this.#specs = specs;
    for (const { id, maxInFlight } of specs) {
      const known = former.get(id);
      if (known !== undefined && known.maxInFlight === maxInFlight) continue;
      this.#setLimit(this.slotOf(id), maxInFlight);
    }
    for (const id of this.#models.keys()) {
      if (!this.#assigned.has(id)) this.#models.delete(id);
    }
    this.#publish();
  }

  /**
   * Takes the models that an endpoint lists, `undefined` when its list cannot
   * be read; an endpoint that is not listed any more is passed over.
   */
  listed(id: string, models: readonly string[] | undefined): void {
    if (!this.#assigned.has(id)) return;
    if (sameModels(this.#models.get(id), models)) return;
    this.#models.set(id, models);
    this.#parts.log("info", "endpoint.models", { id, models: models?.length });
    this.#publish();
  }

  #setLimit(slot: number, limit: EndpointSpec["maxInFlight"]): void {
    const { capacity, table } = this.#parts;
    if (limit === "auto") capacity.setLearning(slot, true);
    else table.setLimit(slot, limit ?? 0);
  }

  /** The slot of a listed endpoint. */
  slotOf(id: string): number {
    return this.#slotOf(id).slot;
  }

  /** The binding word that names an endpoint; 0 when it is not listed. */
  bindingOf(id: string): number {
    const assigned = this.#assigned.get(id);
    return assigned === undefined
      ? 0
      : packBinding(assigned.slot, assigned.generation);
  }

  #slotOf(id: string): EndpointSlot {
    const assigned = this.#assigned.get(id);
    if (assigned === undefined) {
      throw new Error(`Cannot find endpoint "${id}"`);
    }
    return assigned;
  }

  #publish(): void {
    const endpoints = new Map<number, EndpointSpec>();
    const planned = this.#specs.map((spec) => {
      const { slot, generation } = this.#slotOf(spec.id);
      endpoints.set(slot, spec);
      const models = this.#models.get(spec.id);
      return { id: spec.id, weight: spec.weight, slot, generation, models };
    });
    const plan = buildPools(planned, this.#former ?? this.#routes.plan);
    this.#former = undefined;
    this.#routes = { plan, endpoints };
    this.#parts.publish(this.#routes);
  }
}

function sameModels(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && a.every((model, index) => model === b[index]);
}
