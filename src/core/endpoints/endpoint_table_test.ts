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
import { test } from "../../../tests/leakproof.ts";
import { ENDPOINT_STATES, type EndpointState } from "../endpoint.ts";
import { EndpointSlots } from "./endpoint_slots.ts";
import { ENDPOINTS_MAX, EndpointTable } from "./endpoint_table.ts";

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

test("a learned limit bounds as others do, and never overwrites one that is set", () => {
  const table = new EndpointTable();
  assertEquals(table.learnedLimit(0), 0);
  assertEquals(table.exchangeLearned(0, 0, 5), false);
  table.setLimit(0, 2);
  assertEquals(table.learnedLimit(0), 0);
  assertEquals(table.exchangeLearned(0, 2, 5), false);
  assertEquals(table.limit(0), 2);
  table.setLearned(0, 2);
  assertEquals([table.limit(0), table.learnedLimit(0)], [2, 2]);
  for (let i = 0; i < 4; i++) table.tryReserve(0);
  assertEquals(table.inFlight(0), 2);
  assertEquals(table.exchangeLearned(0, 1, 3), false);
  assertEquals(table.exchangeLearned(0, 2, 3), true);
  assertEquals([table.limit(0), table.learnedLimit(0)], [3, 3]);
  // As when the configuration names the number that was learned.
  table.setLimit(0, 3);
  assertEquals(table.exchangeLearned(0, 3, 4), false);
  assertEquals([table.limit(0), table.learnedLimit(0)], [3, 0]);
  table.setLearned(0, 2);
  table.renew(0);
  assertEquals([table.limit(0), table.learnedLimit(0)], [0, 0]);
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

test("tryEject() ejects a ready endpoint, and never the last one", () => {
  const rows: [
    states: readonly (EndpointState | undefined)[],
    effect: string,
  ][] = [
    [[undefined, "ready"], "not_ready"],
    [["probing", "ready"], "not_ready"],
    [["ejected", "ready"], "not_ready"],
    [["draining", "ready"], "not_ready"],
    [["ready"], "kept"],
    [["ready", "ejected", "draining", "probing"], "kept"],
    [["ready", "ready"], "ejected"],
    [["ready", "probing", "ready"], "ejected"],
  ];
  for (const [states, effect] of rows) {
    const table = new EndpointTable();
    states.forEach((state, slot) => table.setState(slot, state));
    assertEquals(table.tryEject(0, 7_999), effect, states.join());
    const expected = effect === "ejected" ? "ejected" : states[0];
    assertEquals(table.state(0), expected);
    assertEquals(
      table.ejectedAtMs(0),
      effect === "ejected" ? 7_000 : undefined,
    );
  }
});

test("whatever threads do, traffic leaves one ready endpoint of those there were", () => {
  const step = fc.record({
    slot: fc.nat(3),
    to: fc.constantFrom("eject", undefined, ...ENDPOINT_STATES),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
      const table = new EndpointTable();
      const other = new EndpointTable(table.buffer);
      for (const { slot, to } of steps) {
        if (to !== "eject") table.setState(slot, to);
        else {
          const ready = readyCount(table);
          other.tryEject(slot, 0);
          assert(ready === 0 || readyCount(table) >= 1);
          assert(readyCount(table) >= ready - 1);
        }
      }
      // What is counted is what there is: all but one can be ejected.
      const ready = readyCount(table);
      for (let slot = 0; slot < 4; slot++) table.tryEject(slot, 0);
      assertEquals(readyCount(table), Math.min(ready, 1));
    }),
  );
});

test("failures are counted in a row, and answers and busy times remembered", () => {
  const table = new EndpointTable();
  assertEquals([table.failures(3), table.answeredAtMs(3)], [0, undefined]);
  assertEquals(table.lastFailure(3), undefined);
  assertEquals(table.addFailure(3, "upstream_unreachable"), 1);
  assertEquals(table.addFailure(3, "upstream_reset"), 2);
  assertEquals(table.lastFailure(3), "upstream_reset");
  assertEquals(table.addFailure(3, undefined), 3);
  assertEquals(table.lastFailure(3), undefined);
  table.clearFailures(3);
  assertEquals([table.failures(3), table.failures(2)], [0, 0]);
  const rows: [nowMs: number, answeredAtMs: number][] = [
    [0, 0],
    [999, 0],
    [1_000, 1_000],
    // The year 2096, and the last second that fits.
    [3_999_999_999_999, 3_999_999_999_000],
  ];
  for (const [nowMs, answeredAtMs] of rows) {
    table.noteAnswer(3, nowMs);
    assertEquals(table.answeredAtMs(3), answeredAtMs);
  }
});

test("isBusy() holds until the second that was asked for is over", () => {
  const table = new EndpointTable();
  assertEquals(table.isBusy(0, 0), false);
  table.setBusyUntil(0, 1_764_000_000_500);
  assertEquals(table.isBusy(0, 1_764_000_000_499), true);
  assertEquals(table.isBusy(0, 1_764_000_000_999), true);
  assertEquals(table.isBusy(0, 1_764_000_001_000), false);
  assertEquals(table.isBusy(1, 0), false);
});

test("renew() forgets the health of the former endpoint", () => {
  const table = new EndpointTable();
  table.setFailuresMax(0, 3);
  table.addFailure(0, "upstream_reset");
  table.noteAnswer(0, 5_000);
  table.setBusyUntil(0, 9_000);
  table.renew(0);
  assertEquals(table.failures(0), 0);
  assertEquals(table.failuresMax(0), 0);
  assertEquals(table.lastFailure(0), undefined);
  assertEquals(table.answeredAtMs(0), undefined);
  assertEquals(table.isBusy(0, 6_000), false);
});

function readyCount(table: EndpointTable): number {
  return [0, 1, 2, 3].filter((slot) => table.state(slot) === "ready").length;
}
