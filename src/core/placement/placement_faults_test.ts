/**
 * Faults that users reported in gateways of this kind, as inputs to placement.
 *
 * Each name begins with where the fault was reported. The letter and number of
 * a class, such as A1, is that of the project's list of faults.
 *
 * Invariant: each test shows the right behavior of a whole class of faults,
 * not only of the one input that was reported.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import {
  keyOf,
  World,
  type WorldEndpoint,
} from "../../../tests/placement_world.ts";
import { roundRobin } from "../../policies/round_robin.ts";
import type { Placed } from "./placement.ts";
import { rankByRendezvous } from "./rendezvous.ts";

/** Endpoints of one host, ports from 8000. */
function ports(count: number, limit = 0): WorldEndpoint[] {
  return Array.from(
    { length: count },
    (_, index) => ({ id: `http://127.0.0.1:${8000 + index}`, limit }),
  );
}

function countBy(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

function sessionsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `session-${index}`);
}

test("envoyproxy/gateway #7561 (A1), contour #3808 (A2), AB #2742: an added endpoint moves no live session, and of expired ones only its own", () => {
  const world = new World({
    endpoints: ports(3),
    idleTtlMs: 60_000,
    capacity: 2 ** 16,
  });
  const keys = sessionsOf(1_000);
  const before = new Map(keys.map((key) => [key, world.call(key)[0]]));
  world.nowMs += 59_000;
  world.setEndpoints(ports(4));
  for (const key of keys) {
    assertEquals(world.call(key), [before.get(key), "hit"]);
  }
  world.nowMs += 60_000;
  let moved = 0;
  for (const key of keys) {
    const [id, outcome] = world.call(key);
    assertEquals(outcome, "new");
    if (id === before.get(key)) continue;
    assertEquals(id, "http://127.0.0.1:8003");
    moved++;
  }
  assert(moved > 200 && moved < 300, `${moved} of 1000 moved`);
});

test("ai-dynamo/dynamo #11035 (A3): gateways that share nothing agree on a session", () => {
  const one = new World({ endpoints: ports(5), seed: 1 });
  const other = new World({ endpoints: ports(5).reverse(), seed: 2 });
  for (const key of sessionsOf(100)) {
    const ids = [one, other, one, other, one].map((world) =>
      world.call(key)[0]
    );
    assertEquals(new Set(ids).size, 1);
  }
});

test("vllm-router (A12), AB session hash: orphans of one of 8 ports spread over all others within 25 %", () => {
  // So roomy that no bucket overflows.
  const world = new World({ endpoints: ports(8), capacity: 2 ** 18 });
  const bound = new Map(
    sessionsOf(16_000).map((key) => [key, world.call(key)[0]]),
  );
  const dead = "http://127.0.0.1:8003";
  world.setEndpoints(ports(8).filter(({ id }) => id !== dead));
  const heirs: string[] = [];
  for (const [key, id] of bound) {
    const [now, outcome] = world.call(key);
    if (id === dead) {
      assertEquals(outcome, "moved");
      heirs.push(now);
    } else assertEquals([now, outcome], [id, "hit"]);
  }
  const counts = countBy(heirs);
  assertEquals(counts.size, 7);
  for (const count of counts.values()) {
    assert(Math.abs(count - heirs.length / 7) <= heirs.length / 28);
  }
});

test("10,000 sessions on 8 equal endpoints are bound within 10 % of even", () => {
  const world = new World({ endpoints: ports(8), capacity: 2 ** 18 });
  const ids = sessionsOf(10_000).map((key) => world.call(key)[0]);
  for (const count of countBy(ids).values()) {
    assert(Math.abs(count - 1_250) <= 125, `${count} of 1250`);
  }
});

test("prime-rl #3255 (B1): 20 heavy sessions of one endpoint spill alike and return", () => {
  const keys = sessionsOf(400).filter((key) => {
    const world = new World({ endpoints: ports(4) });
    return rankByRendezvous(keyOf(key), world.pools.whole).next() === 0;
  }).slice(0, 20);
  const run = (): [string, string][] => {
    const world = new World({ endpoints: ports(4, 8) });
    for (const key of keys) world.call(key);
    const open = keys.map((key) => world.place(key));
    const result = open.map((placed): [string, string] => [
      world.idOf(placed),
      placed.outcome,
    ]);
    for (const placed of open) world.placement.settle(placed, 0);
    for (const key of keys) assertEquals(world.call(key)[1], "hit");
    return result;
  };
  const first = run();
  assertEquals(first.filter(([, outcome]) => outcome === "hit").length, 8);
  const spilled = first.filter(([, outcome]) => outcome === "spilled");
  assertEquals(spilled.length, 12);
  assert(countBy(spilled.map(([id]) => id)).size > 1);
  assertEquals(run(), first);
});

test("dubbo #4103 (B2): one hot session stays on its endpoint up to the limit, others go round it", () => {
  const world = new World({ endpoints: ports(4, 50) });
  const [home] = world.call("hot");
  const hot = Array.from({ length: 80 }, () => world.place("hot"));
  const onHome = hot.filter((placed) => world.idOf(placed) === home);
  assertEquals(onHome.length, 50);
  for (const key of sessionsOf(40)) assert(world.call(key)[0] !== home);
});

test("vllm-router (B5), vime #98: requests without a key are spread by load", () => {
  const world = new World({ endpoints: ports(8) });
  const ids = Array.from(
    { length: 80 },
    () => world.idOf(world.place(undefined)),
  );
  const counts = countBy(ids);
  assertEquals(counts.size, 8);
  assert(Math.max(...counts.values()) <= 15, "over 1.5 times the mean of 10");
});

test("AB #2422, AB #646: 100 simultaneous requests without a key give 25 +- 5 each", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = new World({ endpoints: ports(4), seed });
    const ids = Array.from(
      { length: 100 },
      () => world.idOf(world.place(undefined)),
    );
    for (const count of countBy(ids).values()) {
      assert(Math.abs(count - 25) <= 5, `${count} of 25 with seed ${seed}`);
    }
  }
});

test("PS #915: two models in turn each alternate over their endpoints", () => {
  const world = new World({
    policy: roundRobin,
    endpoints: ["m", "m", "n", "n"].map((model, index) => ({
      id: `e${index}`,
      models: [model],
    })),
  });
  const ids = sessionsOf(80).map((key, turn) =>
    world.call(key, turn % 2 === 0 ? "m" : "n")[0]
  );
  assertEquals([...countBy(ids).values()], [20, 20, 20, 20]);
  const [m, n] = [
    ids.filter((_, i) => i % 2 === 0),
    ids.filter((_, i) => i % 2),
  ];
  for (const list of [m, n]) {
    list.slice(1).forEach((id, i) => assert(id !== list[i]));
  }
});

test("PS shared ring: models in turn keep their pools and their bindings", () => {
  const world = new World({
    endpoints: [
      { id: "a", models: ["m"] },
      { id: "b", models: ["n"] },
      { id: "c", models: ["m", "n"] },
    ],
  });
  const [m, n] = [world.call("s", "m")[0], world.call("s", "n")[0]];
  const pools = world.pools.all;
  for (let turn = 0; turn < 20; turn++) {
    assertEquals(world.call("s", "m"), [m, "hit"]);
    assertEquals(world.call("s", "n"), [n, "hit"]);
  }
  assertEquals(world.pools.all, pools);
});

test("bifrost #7177: the binding is the endpoint that served, not the one tried first", () => {
  const world = new World({ endpoints: ports(4) });
  for (const key of sessionsOf(50)) {
    const first = world.place(key);
    world.placement.failed(first);
    world.placement.settle(first, 0);
    const second = world.place(key, { tried: [first.slot] });
    assertEquals(second.outcome, "new");
    world.placement.answered(second);
    world.placement.settle(second, 0);
    assert(second.slot !== first.slot);
    assertEquals(world.call(key), [world.idOf(second), "hit"]);
  }
});

test("AB #2484: 10 parallel first calls of a session go to one endpoint", () => {
  const world = new World({ endpoints: ports(4) });
  // Load that comes in between would draw the later calls elsewhere.
  const open: Placed[] = [];
  for (let call = 0; call < 10; call++) {
    open.push(world.place("agent-42"));
    for (let i = 0; i < 20; i++) world.endpoints.tryReserve(open[0]?.slot ?? 0);
  }
  assertEquals(new Set(open.map(({ slot }) => slot)).size, 1);
  assertEquals(new Set(open.map(({ outcome }) => outcome)).size, 1);
});

test("AB #2484: parallel first calls follow the one that failed over", () => {
  const world = new World({ endpoints: ports(4) });
  const [one, two] = [world.place("agent-42"), world.place("agent-42")];
  world.placement.failed(one);
  world.placement.settle(one, 0);
  const again = world.place("agent-42", { tried: [one.slot] });
  world.placement.answered(again);
  world.placement.settle(again, 0);
  assertEquals(world.place("agent-42").slot, again.slot);
  world.placement.failed(two);
  world.placement.settle(two, 0);
  assertEquals(world.place("agent-42").slot, again.slot);
});

test("PS #601: a draining endpoint gets no new sessions and finishes its own", () => {
  const world = new World({ endpoints: ports(2) });
  const [home] = world.call("s");
  const running = world.place("s");
  world.endpoints.setState(world.slot(home), "draining");
  for (const key of sessionsOf(50)) assert(world.call(key)[0] !== home);
  assertEquals(world.endpoints.inFlight(world.slot(home)), 1);
  world.placement.answered(running);
  assertEquals(world.placement.settle(running, 0), true);
});

test("AB #2440, PS #1001: however requests end, counts return to 0", () => {
  const world = new World({ endpoints: ports(3) });
  for (let i = 0; i < 400; i++) {
    const placed = world.place(i % 3 === 0 ? undefined : `s${i % 7}`);
    if (i % 2 === 0) world.placement.failed(placed);
    if (i % 5 === 0) world.placement.answered(placed);
    world.placement.settle(placed, 0);
    world.placement.settle(placed, 0);
  }
  for (let index = 0; index < 3; index++) {
    assertEquals(world.pools.whole.inFlight(index), 0);
  }
});
