/**
 * Who gets which slot of the endpoint table.
 *
 * Invariant: a slot is given to another endpoint only when nothing is in
 * flight on it, and with a new generation.
 *
 * @module
 */
import { ENDPOINTS_MAX, type EndpointTable } from "./endpoint_table.ts";

/** Where an endpoint is kept. */
export interface EndpointSlot {
  readonly slot: number;
  readonly generation: number;
}

/**
 * Gives out slots; kept by the main thread, the only one that does.
 *
 * An id that comes back before its slot was needed otherwise gets the same
 * slot and generation, so bindings survive a discovery source that blinks.
 */
export class EndpointSlots {
  readonly #table: EndpointTable;
  /** The id each slot was last given to. */
  readonly #ids: (string | undefined)[] = Array.from(
    { length: ENDPOINTS_MAX },
    () => undefined,
  );
  /** When each slot was freed, in calls of `assign`; 0 while it is held. */
  readonly #freedAt = new Float64Array(ENDPOINTS_MAX).fill(-1);
  #calls = 0;

  constructor(table: EndpointTable) {
    this.#table = table;
  }

  /**
   * Makes `ids` the endpoints of the gateway, and the slots of all others
   * empty. New and returning endpoints start as `probing`.
   *
   * @throws {RangeError} when there are too many, counting slots that former
   * endpoints still have requests in flight on; nothing is changed then.
   */
  assign(ids: readonly string[]): ReadonlyMap<string, EndpointSlot> {
    const slots = this.#choose([...new Set(ids)]);
    this.#calls++;
    for (let slot = 0; slot < ENDPOINTS_MAX; slot++) {
      const id = this.#ids[slot];
      if (this.#freedAt[slot] === 0 && slots.get(id ?? "") !== slot) {
        this.#freedAt[slot] = this.#calls;
        this.#table.setState(slot, undefined);
      }
    }
    const assigned = new Map<string, EndpointSlot>();
    for (const [id, slot] of slots) {
      assigned.set(id, { slot, generation: this.#give(slot, id) });
    }
    return assigned;
  }

  /** Chooses a slot for each id without changing anything. */
  #choose(ids: readonly string[]): Map<string, number> {
    const slots = new Map<string, number>();
    const known = new Map<string | undefined, number>(
      this.#ids.map((id, slot) => [id, slot]),
    );
    const taken = new Set<number>();
    for (const id of ids) {
      const slot = known.get(id);
      if (slot === undefined) continue;
      slots.set(id, slot);
      taken.add(slot);
    }
    const free = this.#freeSlots(taken);
    for (const id of ids) {
      if (slots.has(id)) continue;
      const slot = free.shift();
      if (slot === undefined) {
        throw new RangeError(
          `Cannot keep ${ids.length} endpoints: at most ${ENDPOINTS_MAX}, less those removed with requests in flight`,
        );
      }
      slots.set(id, slot);
    }
    return slots;
  }

  /** Slots not in `taken` or in flight, longest unused first. */
  #freeSlots(taken: ReadonlySet<number>): number[] {
    // Those that this very change frees come last.
    const freedAt = (slot: number) => this.#freedAt[slot] || Infinity;
    return Array.from(this.#freedAt.keys())
      .filter((slot) => !taken.has(slot) && this.#table.inFlight(slot) === 0)
      .sort((one, other) =>
        freedAt(one) === freedAt(other)
          ? one - other
          : freedAt(one) - freedAt(other)
      );
  }

  #give(slot: number, id: string): number {
    if (this.#freedAt[slot] === 0) return this.#table.generation(slot);
    const isReturning = this.#ids[slot] === id;
    this.#ids[slot] = id;
    this.#freedAt[slot] = 0;
    const generation = isReturning
      ? this.#table.generation(slot)
      : this.#table.renew(slot);
    this.#table.setState(slot, "probing");
    return generation;
  }
}
