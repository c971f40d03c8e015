/**
 * What is shown of tenants is bounded, is theirs alone, and never falls.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import type { ApiKey } from "../core/api_key.ts";
import { TENANTS_MAX } from "../core/tenant.ts";
import { TenantLimits } from "../core/tenants/tenant_limits.ts";
import { TenantSlots } from "../core/tenants/tenant_slots.ts";
import { TenantTally } from "../core/tenants/tenant_tally.ts";
import { TenantBook } from "./tenant_book.ts";

/** A book, and what takes keys and counts requests for it. */
function world(slotCount?: number) {
  const limits = new TenantLimits(TenantLimits.create(1, 0), 0);
  const tally = new TenantTally(TenantTally.create(1), 0);
  const slots = new TenantSlots(limits, slotCount);
  const book = new TenantBook({ limits, tally });
  const owners = new Map<string, number>();
  return {
    limits,
    tally,
    owners,
    replace(tenants: readonly string[]) {
      const keys = slots.assign(tenants.map(keyOf));
      owners.clear();
      for (const { tenant, tenantSlot } of keys) owners.set(tenant, tenantSlot);
      book.replace(keys);
    },
    counts: () =>
      Object.fromEntries(
        book.readings().map(({ counts, tenant }) => [tenant, counts[1]]),
      ),
    readings: () => book.readings(),
  };
}

function keyOf(tenant: string): ApiKey {
  return { tenant, digest: `digest of ${tenant}`, expiresAtMs: undefined };
}

test("TenantBook shows nothing where there are no tenants", () => {
  const { counts, replace } = world();
  assertEquals(counts(), {});
  replace([]);
  assertEquals(counts(), {});
});

test("TenantBook hands on no counts with a slot", () => {
  // Four slots: the third tenant's come from the first one's.
  const { counts, limits, owners, replace, tally } = world(4);
  const count = (tenant: string) =>
    tally.count(owners.get(tenant) ?? -1, "2xx");
  replace(["red", "blue"]);
  const red = owners.get("red") ?? -1;
  count("red");
  count("red");
  count("blue");
  limits.take("running", owners.get("blue") ?? -1, 9);
  assertEquals(counts(), { red: 2, blue: 1, other: 0 });
  replace(["blue"]);
  // A request of the tenant that has gone ends only now.
  tally.count(red, "2xx");
  assertEquals(counts(), { blue: 1, other: 2 });
  replace(["blue", "green"]);
  assertEquals(owners.get("green") === red, true);
  assertEquals(counts(), { blue: 1, green: 0, other: 3 });
  count("green");
  replace(["red", "blue"]);
  assertEquals(counts(), { red: 0, blue: 1, other: 4 });
});

test("TenantBook has no more series than tenants that are configured", () => {
  const { owners, readings, replace, tally, limits } = world();
  const many = Array.from({ length: TENANTS_MAX + 5 }, (_, at) => `t${at}`);
  replace(["other", ...many]);
  for (const slot of owners.values()) {
    tally.count(slot, "2xx");
    limits.take("running", slot, 9);
    limits.take("waiting", slot, 9);
  }
  const all = readings();
  assertEquals(all.length, TENANTS_MAX);
  assertEquals(new Set(all.map(({ tenant }) => tenant)).size, all.length);
  const { counts, ...other } = all.at(-1) ?? { counts: [] };
  assertEquals(other, { tenant: "other", running: 7, waiting: 7 });
  assertEquals(counts[1], 7);
});

test("TenantBook loses and doubles no request, whoever comes and goes", () => {
  const names = ["a", "b", "c", "other"];
  const step = fc.oneof(
    fc.subarray(names).map((tenants) => ({ tenants })),
    fc.constantFrom(...names).map((count) => ({ count })),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { counts, owners, replace, tally } = world();
      let total = 0;
      let before: Record<string, number | undefined> = {};
      for (const step of steps) {
        if ("tenants" in step) replace(step.tenants);
        else if (owners.has(step.count)) {
          tally.count(owners.get(step.count) ?? -1, "2xx");
          total += 1;
        }
        const now = counts();
        const sum = Object.values(now).reduce<number>(
          (sum, count) => sum + (count ?? 0),
          0,
        );
        assertEquals(sum, total);
        assertEquals((now["other"] ?? 0) >= (before["other"] ?? 0), true);
        before = now;
      }
    }),
    { numRuns: 50 },
  );
});
