/**
 * Which slot of the limits each tenant and each key has.
 *
 * Whoever is kept when the list changes keeps its slot, and with it what it
 * uses and its bucket. A slot that is free goes to somebody else once no
 * request holds anything of it.
 *
 * Invariant: it runs on one thread, and no two owners have one slot.
 *
 * @module
 */
import type { ApiKey } from "../api_key.ts";
import { SLOT_COUNT, type TenantLimits } from "./tenant_limits.ts";

/** A key with the slots of its limits; can be posted to threads. */
export interface IssuedKey extends ApiKey {
  readonly slot: number;
  readonly tenantSlot: number;
}

/** What the book looks at and clears. */
export type SlotUse = Pick<TenantLimits, "held" | "clear">;

/** Hands out the slots of one gateway. */
export class TenantSlots {
  readonly #use: SlotUse;
  readonly #count: number;
  #slots = new Map<string, number>();

  /** @param count How many there are; fewer in tests. */
  constructor(use: SlotUse, count: number = SLOT_COUNT) {
    this.#use = use;
    this.#count = count;
  }

  /**
   * Gives every key and every tenant a slot.
   *
   * @throws {RangeError} when there are not enough; then nothing has changed.
   */
  assign(keys: readonly ApiKey[]): IssuedKey[] {
    const owners = new Set<string>();
    for (const key of keys) owners.add(tenantOwner(key)).add(keyOwner(key));
    const slots = new Map<string, number>();
    for (const owner of owners) {
      const slot = this.#slots.get(owner);
      if (slot !== undefined) slots.set(owner, slot);
    }
    const free = this.#free(new Set(slots.values()));
    const cleared: number[] = [];
    for (const owner of owners) {
      if (slots.has(owner)) continue;
      const { value: slot, done } = free.next();
      if (done) {
        throw new RangeError(
          `Cannot keep limits of ${owners.size} tenants and keys: there are` +
            ` ${this.#count} places, and requests hold some of former ones`,
        );
      }
      slots.set(owner, slot);
      cleared.push(slot);
    }
    for (const slot of cleared) this.#use.clear(slot);
    this.#slots = slots;
    return keys.map((key) => ({
      ...key,
      slot: slots.get(keyOwner(key)) ?? -1,
      tenantSlot: slots.get(tenantOwner(key)) ?? -1,
    }));
  }

  /** Slots that nobody has and nothing is held of. */
  *#free(taken: ReadonlySet<number>): Generator<number, undefined> {
    for (let slot = 0; slot < this.#count; slot++) {
      const isHeld = this.#use.held("running", slot) > 0 ||
        this.#use.held("waiting", slot) > 0;
      if (!taken.has(slot) && !isHeld) yield slot;
    }
    return undefined;
  }
}

function tenantOwner({ tenant }: ApiKey): string {
  return `tenant ${tenant}`;
}

function keyOwner({ digest, tenant }: ApiKey): string {
  return `key ${tenant} ${digest}`;
}
