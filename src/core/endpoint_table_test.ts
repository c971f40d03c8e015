/**
 * The endpoint table and who gets which slot.
 *
 * Invariant: what holds for one view holds for a second one over the same
 * buffer, as in another thread.
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
import { test } from "../../tests/leakproof.ts";
import { ENDPOINT_STATES } from "./endpoint.ts";
import {
  ENDPOINTS_MAX,
  EndpointSlots,
  EndpointTable,
} from "./endpoint_table.ts";

test("tryReserve() stops exactly at the limit", () => {
  const cases: [limit: number, tries: number, taken: number][] = [
    [1, 3, 1],
    [2, 2, 2],
    [3, 2, 2],
    [0, 50, 50],
  ];
  for (const [limit, tries, taken] of cases) {
    const table = new EndpointTable();
    table.setLimit(5, limit);
    for (let i = 0; i < tries; i++) table.tryReserve(5);
    assertEquals(table.inFlight(5), taken);
  }
});

test("a limit below what is in flight only stops new requests", () => {
  const table = new EndpointTable();
  for (let i = 0; i < 4; i++) table.tryReserve(0);
  table.setLimit(0, 2);
  assertEquals(table.tryReserve(0), false);
  assertEquals(table.inFlight(0), 4);
  for (let i = 0; i < 3; i++) table.release(0);
  assertEquals(table.tryReserve(0), true);
});

test("release() never goes below none", () => {
  const table = new EndpointTable();
  table.release(0);
  assertEquals(table.inFlight(0), 0);
});

test("isEligible() asks for state and generation", () => {
  const table = new EndpointTable();
  const generation = table.renew(0);
  for (const state of [undefined, ...ENDPOINT_STATES]) {
    table.setState(0, state);
    assertEquals(table.state(0), state);
    assertEquals(table.isEligible(0, generation), state === "ready");
    assertEquals(table.isEligible(0, generation + 1), false);
  }
});

test("all views of a buffer are one table", () => {
  const table = new EndpointTable();
  const other = new EndpointTable(table.buffer);
  table.setState(255, "draining");
  table.tryReserve(255);
  assertEquals([other.state(255), other.inFlight(255)], ["draining", 1]);
});

test("assign() keeps the slot of an id, and starts new ones as probing", () => {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table);
  const first = slots.assign(["a", "b"]);
  const a = first.get("a");
  assert(a !== undefined);
  assertEquals(table.state(a.slot), "probing");
  table.setState(a.slot, "ready");
  const second = slots.assign(["c", "a", "a"]);
  assertEquals(second.get("a"), a);
  assertEquals(table.state(a.slot), "ready");
  assertEquals(second.size, 2);
  assertEquals(table.state(first.get("b")?.slot ?? 0), undefined);
});

test("assign() gives an id that comes back its slot and generation", () => {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table);
  const first = slots.assign(["a", "b"]).get("b");
  slots.assign(["a"]);
  assertEquals(slots.assign(["a", "b"]).get("b"), first);
  assertEquals(table.state(first?.slot ?? 0), "probing");
});

test("assign() gives a reused slot a new generation and no limit", () => {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table);
  const ids = Array.from({ length: ENDPOINTS_MAX }, (_, i) => `old${i}`);
  const old = slots.assign(ids).get("old7");
  assert(old !== undefined);
  table.setLimit(old.slot, 3);
  const renamed = ids.map((id) => id === "old7" ? "new" : id);
  const fresh = slots.assign(renamed).get("new");
  assertEquals(fresh?.slot, old.slot);
  assertNotEquals(fresh?.generation, old.generation);
  assertEquals(table.limit(old.slot), 0);
});

test("assign() does not reuse a slot that requests are in flight on", () => {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table);
  const ids = Array.from({ length: ENDPOINTS_MAX }, (_, i) => `e${i}`);
  const busy = slots.assign(ids).get("e0")?.slot ?? -1;
  table.tryReserve(busy);
  const renamed = ["new", ...ids.slice(1)];
  assertThrows(() => slots.assign(renamed), RangeError, "Cannot keep 256");
  assertEquals(table.state(busy), "probing");
  table.release(busy);
  assertEquals(slots.assign(renamed).get("new")?.slot, busy);
});

test("assign() refuses more than there are slots, and changes nothing", () => {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table);
  slots.assign(["a"]);
  const many = Array.from({ length: ENDPOINTS_MAX + 1 }, (_, i) => `e${i}`);
  assertThrows(() => slots.assign(many), RangeError);
  assertEquals(table.state(0), "probing");
});

test("whatever lists come, ids and slots match one to one", () => {
  const list = fc.uniqueArray(fc.nat(30), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(list, { maxLength: 20, size: "max" }), (lists) => {
      const table = new EndpointTable();
      const slots = new EndpointSlots(table);
      let before = new Map<string, string>();
      for (const numbers of lists) {
        const ids = numbers.map((number) => `e${number}`);
        const assigned = slots.assign(ids);
        const now = new Map(
          [...assigned].map(([id, at]) => [id, `${at.slot}/${at.generation}`]),
        );
        assertEquals([...now.keys()].sort(), [...ids].sort());
        assertEquals(new Set(now.values()).size, ids.length);
        for (const [id, at] of now) {
          const former = before.get(id);
          if (former !== undefined) assertEquals(at, former);
        }
        before = now;
      }
    }),
  );
});
