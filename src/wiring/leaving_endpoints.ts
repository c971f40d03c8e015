/**
 * Endpoints that are not listed any more and still have requests in flight:
 * the log says how many when they are removed, and when the last has settled,
 * so that whoever turns an engine off knows when.
 *
 * Invariant: an endpoint that is listed is not among them, and there are at
 * most as many as there are slots.
 *
 * @module
 */
import type { EndpointTable } from "../core/endpoints/endpoint_table.ts";
import type { Log } from "../core/outside.ts";

/** What is looked at. */
export interface LeavingParts {
  readonly table: Pick<EndpointTable, "generation" | "inFlight">;
  readonly log: Log;
}

/** Where an endpoint was when it was removed. */
interface Place {
  readonly slot: number;
  readonly generation: number;
}

/** Tells of endpoints that leave. */
export class LeavingEndpoints {
  readonly #parts: LeavingParts;
  #listed: ReadonlyMap<string, Place> = new Map();
  readonly #leaving = new Map<string, Place>();

  constructor(parts: LeavingParts) {
    this.#parts = parts;
  }

  /** Takes the ids that are listed from now on, and where they are kept. */
  replace(ids: readonly string[], slotOf: (id: string) => number): void {
    const { log, table } = this.#parts;
    const listed = new Map(ids.map((id): [string, Place] => {
      const slot = slotOf(id);
      return [id, { slot, generation: table.generation(slot) }];
    }));
    for (const [id, place] of this.#listed) {
      if (listed.has(id)) continue;
      const inFlight = this.#inFlight(place);
      log("info", "endpoint.removed", { id, "in_flight": inFlight });
      if (inFlight > 0) this.#leaving.set(id, place);
    }
    // One that comes back gets its slot, with what is in flight on it.
    for (const id of listed.keys()) this.#leaving.delete(id);
    this.#listed = listed;
  }

  /** Tells of those whose last request has settled. */
  look(): void {
    for (const [id, place] of this.#leaving) {
      if (this.#inFlight(place) > 0) continue;
      this.#leaving.delete(id);
      this.#parts.log("info", "endpoint.gone", { id });
    }
  }

  /** A slot is given to another only when nothing is in flight on it. */
  #inFlight({ generation, slot }: Place): number {
    const { table } = this.#parts;
    return table.generation(slot) === generation ? table.inFlight(slot) : 0;
  }
}
