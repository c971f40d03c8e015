/**
 * What can be seen of each tenant: how its requests have ended, how many are
 * under way, and how many of those wait.
 *
 * Invariant: nothing but the names of tenants that have keys is shown, at most
 * `TENANTS_MAX` of them, and the sum over all never falls: what was counted of
 * a tenant that has gone, or is beyond these, is shown as `other`'s.
 *
 * @module
 */
import type { TenantReading } from "../admin/metrics/tenant_metrics.ts";
import { TENANTS_MAX } from "../core/tenant.ts";
import type { TenantLimits } from "../core/tenants/tenant_limits.ts";
import type { IssuedKey } from "../core/tenants/tenant_slots.ts";
import {
  TENANT_OUTCOMES,
  type TenantTally,
} from "../core/tenants/tenant_tally.ts";

/** Stands for whoever is not shown; a tenant of that name is among them. */
const OTHER = "other";

/** What a book reads. */
export interface TenantBookParts {
  readonly limits: Pick<TenantLimits, "held">;
  readonly tally: Pick<TenantTally, "sums">;
}

/** Knows which slot is which tenant's. */
export class TenantBook {
  readonly #parts: TenantBookParts;
  #slots: ReadonlyMap<string, number> = new Map();
  /** What a slot had counted for former owners; bounded by the slots. */
  readonly #former = new Map<number, readonly number[]>();
  #others: readonly number[] = TENANT_OUTCOMES.map(() => 0);

  constructor(parts: TenantBookParts) {
    this.#parts = parts;
  }

  /** Takes the keys that are accepted from now on. */
  replace(keys: readonly IssuedKey[]): void {
    const slots = new Map(
      keys.map(({ tenant, tenantSlot }) => [tenant, tenantSlot]),
    );
    for (const [tenant, slot] of this.#slots) {
      if (slots.get(tenant) !== slot) this.#close(slot);
    }
    // Requests of a former owner may have ended since it went.
    for (const [tenant, slot] of slots) {
      if (this.#slots.get(tenant) !== slot) this.#close(slot);
    }
    this.#slots = slots;
  }

  /** Every tenant as it is now; the last is `other`, once there was any. */
  readings(): TenantReading[] {
    const all = Array.from(this.#slots, ([tenant, slot]): TenantReading => ({
      tenant,
      running: this.#parts.limits.held("running", slot),
      waiting: this.#parts.limits.held("waiting", slot),
      counts: this.#countsOf(slot),
    }));
    if (all.length === 0 && this.#others.every((count) => count === 0)) {
      return [];
    }
    const isShown = ({ tenant }: TenantReading, at: number) =>
      at < TENANTS_MAX && tenant !== OTHER;
    const rest = all.filter((reading, at) => !isShown(reading, at));
    const other = rest.reduce(sum, {
      tenant: OTHER,
      running: 0,
      waiting: 0,
      counts: this.#others,
    });
    return [...all.filter(isShown), other];
  }

  /** From now on a slot counts for another. */
  #close(slot: number): void {
    this.#others = added(this.#others, this.#countsOf(slot));
    this.#former.set(slot, this.#parts.tally.sums(slot));
  }

  #countsOf(slot: number): number[] {
    const former = this.#former.get(slot);
    return this.#parts.tally.sums(slot)
      .map((count, at) => count - (former?.[at] ?? 0));
  }
}

function sum(one: TenantReading, other: TenantReading): TenantReading {
  return {
    tenant: one.tenant,
    running: one.running + other.running,
    waiting: one.waiting + other.waiting,
    counts: added(one.counts, other.counts),
  };
}

function added(one: readonly number[], other: readonly number[]): number[] {
  return one.map((count, at) => count + (other[at] ?? 0));
}
