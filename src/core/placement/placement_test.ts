/**
 * Placement: what becomes of bindings, limits and load in one decision.
 *
 * Invariant: worlds are made of real tables and policies; faults that users
 * reported in gateways of this kind are tested by name in
 * `placement_faults_test.ts`.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { keyOf, World } from "../../../tests/placement_world.ts";
import { EndpointChoice } from "./endpoint_choice.ts";
import { Ledger } from "./ledger.ts";
import { type Placed, Placement, type Refused } from "./placement.ts";
import { rankByRendezvous } from "./rendezvous.ts";
import type { RoutingPolicy } from "../routing_policy.ts";

const THREE = [{ id: "a" }, { id: "b" }, { id: "c" }];

test("place() refuses without an endpoint, and says which kind of none", () => {
  const cases: [prepare: (world: World) => void, code: Refused["code"]][] = [
    [(world) => world.setEndpoints([]), "no_eligible_endpoint"],
    [setAll("probing"), "no_eligible_endpoint"],
    [setAll("ejected"), "no_eligible_endpoint"],
    [setAll("draining"), "no_eligible_endpoint"],
    [fillAll, "endpoints_full"],
    [(world) => {
      fillAll(world);
      world.endpoints.setState(world.slot("a"), "ejected");
    }, "endpoints_full"],
  ];
  for (const [prepare, code] of cases) {
    for (const key of [undefined, keyOf("session")]) {
      const world = new World({ endpoints: THREE });
      prepare(world);
      const pool = world.pools.whole;
      assertEquals(world.placement.place({ key, pool, nowMs: 0 }), {
        kind: "refused",
        code,
      });
      assertEquals(world.placement.openCount, 0);
      if (key !== undefined) {
        const record = world.sessions.find(key);
        assertEquals(record < 0 ? 0 : world.sessions.pins(record), 0);
      }
    }
  }
});

function setAll(state: "probing" | "ejected" | "draining") {
  return (world: World): void =>
    THREE.forEach(({ id }) => world.endpoints.setState(world.slot(id), state));
}

function fillAll(world: World): void {
  for (const { id } of THREE) {
    world.endpoints.setLimit(world.slot(id), 1);
    world.endpoints.tryReserve(world.slot(id));
  }
}

test("place() refuses when the ledger of the thread is full", () => {
  const world = new World({ endpoints: THREE });
  const policy: RoutingPolicy = {
    rank: (_facts, pool) => rankByRendezvous({ a: 1, b: 1 }, pool),
  };
  const ledger = Ledger.create(1);
  const { sessions, endpoints } = world;
  const choice = new EndpointChoice({
    sessions,
    endpoints,
    policy,
    fallback: policy,
    imbalance: 1.25,
  });
  const deps = { sessions, choice, ledger };
  const placement = new Placement({ ...deps, places: endpoints });
  const request = { key: undefined, pool: world.pools.whole, nowMs: 0 };
  const first = placement.place(request);
  assertEquals(placement.place(request), {
    kind: "refused",
    code: "endpoints_full",
  });
  assert(first.kind === "placed");
  placement.settle(first, 0);
  assertEquals(placement.place(request).kind, "placed");
});

test("a session is new, then hits, whatever the ranking says later", () => {
  const world = new World({ endpoints: [{ id: "a" }] });
  for (let i = 0; i < 50; i++) {
    assertEquals(world.call(`s${i}`), ["a", "new"]);
  }
  world.setEndpoints(THREE);
  for (let i = 0; i < 50; i++) {
    assertEquals(world.call(`s${i}`), ["a", "hit"]);
  }
  assertEquals(world.sessions.turns(world.sessions.find(keyOf("s7"))), 2);
});

test("a session without an answer is not bound", () => {
  const world = new World({ endpoints: THREE });
  world.placement.settle(world.place("s"), 0);
  assertEquals(world.place("s").outcome, "new");
});

test("a session whose endpoint is not eligible moves, and stays moved", () => {
  for (const state of ["ejected", "draining", "probing"] as const) {
    const world = new World({ endpoints: THREE });
    const [bound] = world.call("s");
    world.endpoints.setState(world.slot(bound), state);
    const [next, outcome] = world.call("s");
    assertEquals(outcome, "moved");
    assert(next !== bound);
    world.endpoints.setState(world.slot(bound), "ready");
    assertEquals(world.call("s"), [next, "hit"]);
  }
});

test("a session that moved and got no answer keeps its old binding", () => {
  const world = new World({ endpoints: THREE });
  const [bound] = world.call("s");
  world.endpoints.setState(world.slot(bound), "ejected");
  const placed = world.place("s");
  world.placement.failed(placed);
  world.placement.settle(placed, 0);
  world.endpoints.setState(world.slot(bound), "ready");
  assertEquals(world.call("s"), [bound, "hit"]);
});

test("a session whose endpoint is removed and replaced moves", () => {
  const world = new World({ endpoints: [{ id: "a" }] });
  world.call("s");
  // The new endpoints fill all slots, that of the old one included.
  world.setEndpoints(Array.from({ length: 256 }, (_, i) => ({ id: `n${i}` })));
  assertEquals(world.place("s").outcome, "moved");
});

test("a bound endpoint at its limit spills to the next rank, binding kept", () => {
  const world = new World({ endpoints: THREE });
  const [bound] = world.call("s");
  world.endpoints.setLimit(world.slot(bound), 1);
  const first = world.place("s");
  assertEquals(first.outcome, "hit");
  const ranking = rankByRendezvous(keyOf("s"), world.pools.whole);
  const ranks = [ranking.next(), ranking.next()];
  assertEquals(world.pools.whole.ids[ranks[0] ?? -1], bound);
  const second = world.place("s");
  assertEquals([second.outcome, second.index], ["spilled", ranks[1] ?? -1]);
  world.placement.answered(second);
  world.placement.settle(second, 0);
  world.placement.settle(first, 0);
  assertEquals(world.call("s"), [bound, "hit"]);
});

test("three failures in a row unbind, two and an answer do not", () => {
  const world = new World({ endpoints: THREE });
  const [bound] = world.call("s");
  const fail = () => {
    const placed = world.place("s");
    world.placement.failed(placed);
    world.placement.settle(placed, 0);
    return placed.outcome;
  };
  assertEquals([fail(), fail()], ["hit", "hit"]);
  assertEquals(world.call("s"), [bound, "hit"]);
  assertEquals([fail(), fail(), fail()], ["hit", "hit", "hit"]);
  assertEquals(world.place("s").outcome, "new");
});

test("a call that fails over from a live binding leaves it in place", () => {
  const world = new World({ endpoints: THREE });
  const [bound] = world.call("s");
  const first = world.place("s");
  world.placement.failed(first);
  world.placement.settle(first, 0);
  const second = world.place("s", { tried: [first.slot] });
  assertEquals(second.outcome, "spilled");
  assert(world.idOf(second) !== bound);
  world.placement.answered(second);
  world.placement.settle(second, 0);
  assertEquals(world.call("s"), [bound, "hit"]);
  assertEquals(world.sessions.turns(second.record), 3);
});

test("a call that has tried all endpoints is refused", () => {
  const world = new World({ endpoints: THREE });
  const tried = THREE.map(({ id }) => world.slot(id));
  const pool = world.pools.whole;
  for (const key of [undefined, keyOf("s")]) {
    assertEquals(
      world.placement.place({ key, pool, nowMs: 0, tried }),
      { kind: "refused", code: "no_eligible_endpoint" },
    );
  }
});

test("new bindings pass by an endpoint above its share", () => {
  const world = new World({ endpoints: THREE });
  for (let i = 0; i < 8; i++) world.endpoints.tryReserve(world.slot("a"));
  for (let i = 0; i < 100; i++) {
    const placed = world.place(`s${i}`);
    assert(world.idOf(placed) !== "a");
    assertEquals(placed.outcome, "new");
    world.placement.answered(placed);
    world.placement.settle(placed, 0);
  }
});

test("when all are above their share, the best rank with room is taken", () => {
  const world = new World({ endpoints: [{ id: "a" }, { id: "b", limit: 1 }] });
  world.endpoints.tryReserve(world.slot("b"));
  for (let i = 0; i < 60; i++) world.endpoints.tryReserve(world.slot("a"));
  for (let i = 0; i < 20; i++) {
    assertEquals(world.idOf(world.place(`s${i}`)), "a");
  }
});

test("settle() gives back once, and counts a second call", () => {
  const world = new World({ endpoints: [{ id: "a" }] });
  const [one, two] = [world.place("s"), world.place("s")];
  assertEquals(world.placement.settle(one, 0), true);
  assertEquals(world.placement.settle(one, 0), false);
  assertEquals(world.placement.settledTwiceCount, 1);
  assertEquals(world.endpoints.inFlight(0), 1);
  assertEquals(world.sessions.pins(two.record), 1);
  world.placement.settle(two, 0);
  assertEquals(world.ledger.openCount, 0);
});

test("a late answer or failure after settling changes nothing", () => {
  const world = new World({ endpoints: THREE });
  const placed = world.place("s");
  world.placement.settle(placed, 0);
  world.placement.answered(placed);
  world.placement.failed(placed);
  assertEquals(world.place("s").outcome, "new");
});

const event = fc.record({
  act: fc.constantFrom("place", "answer", "fail", "settle", "eject", "ready"),
  key: fc.option(fc.constantFrom("s0", "s1", "s2", "s3"), { nil: undefined }),
  pick: fc.nat(),
  waitMs: fc.constantFrom(0, 0, 1_000, 60_000),
});

test("after any run of events all that was taken is given back", () => {
  const runs = fc.array(event, { maxLength: 100, size: "max" });
  fc.assert(fc.property(runs, (events) => {
    const world = new World({
      endpoints: THREE.map((endpoint) => ({ ...endpoint, limit: 3 })),
    });
    const open: Placed[] = [];
    for (const { act, key, pick, waitMs } of events) {
      world.nowMs += waitMs;
      apply(world, open, { act, key, pick });
      for (const { id } of THREE) {
        const slot = world.slot(id);
        const held = open.filter((placed) => placed.slot === slot).length;
        assertEquals(world.endpoints.inFlight(slot), held);
        assert(held <= 3);
      }
      assertEquals(world.ledger.openCount, open.length);
    }
    for (const placed of open) world.placement.settle(placed, world.nowMs);
    for (const key of ["s0", "s1", "s2", "s3"]) {
      const record = world.sessions.find(keyOf(key));
      if (record >= 0) assertEquals(world.sessions.pins(record), 0);
    }
    assertEquals(world.ledger.openCount, 0);
    assertEquals(world.placement.settledTwiceCount, 0);
  }));
});

/** Does one thing to the world. */
function apply(
  world: World,
  open: Placed[],
  event: { act: string; key: string | undefined; pick: number },
): void {
  const slot = world.slot(THREE[event.pick % 3]?.id ?? "");
  if (event.act === "eject") return world.endpoints.setState(slot, "ejected");
  if (event.act === "ready") return world.endpoints.setState(slot, "ready");
  if (event.act === "place") {
    const result = world.placement.place({
      key: event.key === undefined ? undefined : keyOf(event.key),
      pool: world.pools.whole,
      nowMs: world.nowMs,
    });
    if (result.kind === "placed") {
      assert(world.pools.whole.isEligible(result.index));
      assertEquals(result.outcome === "none", event.key === undefined);
      open.push(result);
    }
    return;
  }
  const placed = open[event.pick % Math.max(1, open.length)];
  if (placed === undefined) return;
  if (event.act === "answer") return world.placement.answered(placed);
  if (event.act === "fail") return world.placement.failed(placed);
  open.splice(open.indexOf(placed), 1);
  assert(world.placement.settle(placed, world.nowMs));
}

test("a busy endpoint counts as full, unless all are busy", () => {
  const world = new World({ endpoints: THREE });
  const [bound] = world.call("s");
  const slotOf = (id: string) => world.slot(id);
  world.endpoints.setBusyUntil(slotOf(bound), 5_000);
  const [other, outcome] = world.call("s");
  assertNotEquals(other, bound);
  assertEquals(outcome, "spilled");
  for (let i = 0; i < 30; i++) {
    assertNotEquals(world.call(`new-${i}`)[0], bound);
    assertNotEquals(world.call(undefined)[0], bound);
  }
  for (const { id } of THREE) world.endpoints.setBusyUntil(slotOf(id), 5_000);
  assertEquals(world.call("s"), [bound, "hit"]);
  world.nowMs = 5_000;
  assertEquals(world.call("s"), [bound, "hit"]);
});

test("a busy endpoint takes a call that all others have failed", () => {
  const world = new World({ endpoints: THREE });
  const [a, b, c] = THREE.map(({ id }) => world.slot(id));
  assert(a !== undefined && b !== undefined && c !== undefined);
  world.endpoints.setBusyUntil(c, 5_000);
  const placed = world.place("s", { tried: [a, b] });
  assertEquals(placed.slot, c);
  world.placement.settle(placed, 0);
});

test("with one endpoint busy and the others full, all count as full", () => {
  const world = new World({
    endpoints: THREE.map(({ id }) => ({ id, limit: 1 })),
  });
  const held = [world.place(undefined), world.place(undefined)];
  const free = THREE.find(({ id }) =>
    world.endpoints.inFlight(world.slot(id)) === 0
  );
  assert(free !== undefined);
  world.endpoints.setBusyUntil(world.slot(free.id), 5_000);
  const result = world.placement.place({
    key: undefined,
    pool: world.pool(),
    nowMs: 0,
  });
  assertEquals(result, { kind: "refused", code: "endpoints_full" });
  for (const placed of held) world.placement.settle(placed, 0);
});
