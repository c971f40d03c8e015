/**
 * What all worker threads must agree on about endpoints, in one
 * SharedArrayBuffer: state, requests in flight and their limit.
 *
 * Slots are given out by the main thread alone (`EndpointSlots`), and every
 * other word may be read and written by any thread. A reservation is one
 * compare-exchange below the limit, made in the same synchronous step that
 * chooses the endpoint, so a burst cannot all see the same idle endpoint.
 *
 * Invariant: a slot is given to another endpoint only when nothing is in
 * flight on it, and with a new generation. A request may therefore give back
 * its reservation by slot alone.
 *
 * @module
 */
import { ENDPOINT_STATES, type EndpointState } from "./endpoint.ts";

/**
 * Endpoints of one gateway. 256 fit the 8 bits of a binding, and are more than
 * ranking endpoint by endpoint is meant for.
 */
export const ENDPOINTS_MAX = 256;

/** One cache line a slot: threads that count on neighbors do not collide. */
const SLOT_WORDS = 16;

/** Words of a slot. State is its index in `ENDPOINT_STATES` plus 1, or 0. */
const STATE = 0;
const GENERATION = 1;
const IN_FLIGHT = 2;
const LIMIT = 3;

const READY = ENDPOINT_STATES.indexOf("ready") + 1;

/** Generations are kept in the 16 bits that a binding has for them. */
const GENERATION_MASK = 0xffff;

/** One view of the table; every thread makes its own over the same buffer. */
export class EndpointTable {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array;

  /** Attaches to a buffer, or makes a new one with all slots empty. */
  constructor(buffer?: SharedArrayBuffer) {
    this.buffer = buffer ??
      new SharedArrayBuffer(4 * SLOT_WORDS * ENDPOINTS_MAX);
    this.#words = new Int32Array(this.buffer);
  }

  /** The state of the endpoint in a slot; `undefined` for an empty slot. */
  state(slot: number): EndpointState | undefined {
    return ENDPOINT_STATES[this.#load(slot, STATE) - 1];
  }

  /** Sets the state; `undefined` empties the slot. */
  setState(slot: number, state: EndpointState | undefined): void {
    const word = state === undefined ? 0 : ENDPOINT_STATES.indexOf(state) + 1;
    Atomics.store(this.#words, slot * SLOT_WORDS + STATE, word);
  }

  /** Whether the slot holds the endpoint of `generation`, and it takes work. */
  isEligible(slot: number, generation: number): boolean {
    return this.#load(slot, STATE) === READY &&
      this.#load(slot, GENERATION) === generation;
  }

  /** How often the slot has been given out, modulo 2^16. */
  generation(slot: number): number {
    return this.#load(slot, GENERATION);
  }

  /** Gives the slot a new generation, with no limit; returns it. */
  renew(slot: number): number {
    const generation = (this.generation(slot) + 1) & GENERATION_MASK;
    Atomics.store(this.#words, slot * SLOT_WORDS + LIMIT, 0);
    Atomics.store(this.#words, slot * SLOT_WORDS + GENERATION, generation);
    return generation;
  }

  /** Requests in flight on the slot's endpoint, over all threads. */
  inFlight(slot: number): number {
    return this.#load(slot, IN_FLIGHT);
  }

  /** Most requests in flight at once; 0 for no limit. */
  limit(slot: number): number {
    return this.#load(slot, LIMIT);
  }

  /** Sets the limit; one below what is in flight only stops new requests. */
  setLimit(slot: number, limit: number): void {
    Atomics.store(this.#words, slot * SLOT_WORDS + LIMIT, limit);
  }

  /** Takes one of the slot's places; false when it is at its limit. */
  tryReserve(slot: number): boolean {
    const at = slot * SLOT_WORDS + IN_FLIGHT;
    let count = Atomics.load(this.#words, at);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (true) {
      const limit = this.#load(slot, LIMIT);
      if (limit > 0 && count >= limit) return false;
      const seen = Atomics.compareExchange(this.#words, at, count, count + 1);
      if (seen === count) return true;
      count = seen;
    }
  }

  /** Gives back one place; never below none. */
  release(slot: number): void {
    const at = slot * SLOT_WORDS + IN_FLIGHT;
    let count = Atomics.load(this.#words, at);
    // Bounded by progress: an exchange fails when another thread's succeeds.
    while (count > 0) {
      const seen = Atomics.compareExchange(this.#words, at, count, count - 1);
      if (seen === count) return;
      count = seen;
    }
  }

  #load(slot: number, word: number): number {
    return Atomics.load(this.#words, slot * SLOT_WORDS + word);
  }
}

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
