/**
 * Limits are shared by all workers, exact, and survive one of them; slots are
 * kept by who has them.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import type { ApiKey } from "../api_key.ts";
import { TenantLimits } from "./tenant_limits.ts";
import { TenantSlots } from "./tenant_slots.ts";

const NOW_MS = 1_796_000_000_000;

function workers(): [TenantLimits, TenantLimits] {
  const buffers = TenantLimits.create(2, NOW_MS);
  return [new TenantLimits(buffers, 0), new TenantLimits(buffers, 1)];
}

function key(tenant: string, id: number): ApiKey {
  const digest = id.toString(16).padStart(64, "0");
  return { tenant, digest, expiresAtMs: undefined };
}

test("TenantLimits.take() stops at the limit over all workers", () => {
  const [one, other] = workers();
  assertEquals(one.take("running", 5, 0), false);
  assertEquals(one.take("running", 5, 2), true);
  assertEquals(other.take("running", 5, 2), true);
  assertEquals([one, other].map((w) => w.take("running", 5, 2)), [
    false,
    false,
  ]);
  assertEquals(other.take("waiting", 5, 2), true);
  assertEquals(other.take("running", 6, 2), true);
  one.give("running", 5);
  assertEquals(other.take("running", 5, 2), true);
  assertEquals(other.held("running", 5), 2);
});

test("TenantLimits.reclaim() gives back a dead worker's share, once", () => {
  const [one, other] = workers();
  one.take("running", 7, 9);
  one.take("waiting", 8_191, 9);
  other.take("running", 7, 9);
  one.reclaim();
  one.reclaim();
  assertEquals(other.held("running", 7), 1);
  assertEquals(other.held("waiting", 8_191), 0);
});

test("TenantLimits agrees with plain counts, whoever takes and gives", () => {
  const step = fc.record({
    worker: fc.nat(1),
    slot: fc.nat(2),
    isTake: fc.boolean(),
  });
  fc.assert(fc.property(fc.array(step), (steps) => {
    const both = workers();
    const held = [[0, 0, 0], [0, 0, 0]];
    for (const { isTake, slot, worker } of steps) {
      const own = held[worker];
      const limits = both[worker];
      if (own === undefined || limits === undefined) continue;
      const total = held.reduce((sum, row) => sum + (row[slot] ?? 0), 0);
      if (isTake) {
        assertEquals(limits.take("running", slot, 3), total < 3);
        if (total < 3) own[slot] = (own[slot] ?? 0) + 1;
      } else if ((own[slot] ?? 0) > 0) {
        limits.give("running", slot);
        own[slot] = (own[slot] ?? 0) - 1;
      }
    }
    both[0].reclaim();
    for (let slot = 0; slot < 3; slot++) {
      assertEquals(both[1].held("running", slot), held[1]?.[slot]);
    }
  }));
});

test("TenantSlots.assign() keeps slots of who stays, and gives no two one", () => {
  const [limits] = workers();
  const slots = new TenantSlots(limits);
  const [a, b] = slots.assign([key("red", 1), key("blue", 2)]);
  const [c, d, e] = slots.assign([key("blue", 2), key("blue", 3), key("x", 4)]);
  assertEquals([c?.slot, c?.tenantSlot], [b?.slot, b?.tenantSlot]);
  assertEquals(d?.tenantSlot, b?.tenantSlot);
  assertNotEquals(a?.slot, a?.tenantSlot);
  const all = [c?.slot, c?.tenantSlot, d?.slot, e?.slot, e?.tenantSlot];
  assertEquals(new Set(all).size, 5);
});

test("TenantSlots.assign() leaves alone what requests hold, or refuses", () => {
  const [limits] = workers();
  const slots = new TenantSlots(limits, 4);
  const [red] = slots.assign([key("red", 1)]);
  assert(red !== undefined);
  limits.take("running", red.slot, 9);
  const [blue] = slots.assign([key("blue", 2)]);
  assert(blue !== undefined);
  assertNotEquals(blue.slot, red.slot);
  assertNotEquals(blue.tenantSlot, red.slot);
  const many = [key("blue", 2), key("blue", 3), key("blue", 4)];
  assertThrows(() => slots.assign(many), RangeError, "there are 4 places");
  limits.give("running", red.slot);
  assertEquals(slots.assign(many).length, 3);
});

test("TenantSlots.assign() gives a new owner a full bucket", () => {
  const [limits] = workers();
  const slots = new TenantSlots(limits, 2);
  const once = { perSecond: 0.001, burst: 1 };
  const [red] = slots.assign([key("red", 1)]);
  assert(limits.takeToken(red?.slot ?? -1, once, NOW_MS).isTaken);
  slots.assign([key("red", 1)]);
  assert(!limits.takeToken(red?.slot ?? -1, once, NOW_MS).isTaken);
  const [blue] = slots.assign([key("blue", 2)]);
  assert(limits.takeToken(blue?.slot ?? -1, once, NOW_MS).isTaken);
  assert(limits.takeToken(blue?.tenantSlot ?? -1, once, NOW_MS).isTaken);
});
