/**
 * The queue: who goes next, over all workers and whatever happens meanwhile.
 *
 * Invariant: every world is checked for places too: none is lost, and none is
 * used twice.
 *
 * @module
 */
import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { type Arrival, QueueWorld } from "../../../tests/queue_world.ts";
import { PassiveHealth } from "../endpoints/passive_health.ts";
import { LEVEL_COUNT } from "../scheduling_policy.ts";

const ONE = [{ id: "a", limit: 1 }];
const TWO = [{ id: "a", limit: 1 }, { id: "b", limit: 1 }];

/** A world whose endpoints have no place left. */
function full(
  endpoints: ConstructorParameters<typeof QueueWorld>[0],
  options?: ConstructorParameters<typeof QueueWorld>[1],
): QueueWorld {
  const world = new QueueWorld(endpoints, options);
  world.fill();
  return world;
}

function inFlight(queues: QueueWorld, id: string): number {
  return queues.world.endpoints.inFlight(queues.world.slot(id));
}

const ORDERS: [what: string, arrivals: [string, Arrival][], order: string][] = [
  ["first come, first served", [["x", {}], ["y", {}], ["z", {}]], "xyz"],
  ["level by level", [
    ["x", { level: 2 }],
    ["y", { level: 0 }],
    ["z", { level: 1 }],
  ], "yzx"],
  ["first come inside a level", [
    ["x", { level: 1 }],
    ["y", { level: 0 }],
    ["z", { level: 1 }],
    ["w", { level: 0 }],
  ], "ywxz"],
  ["bound ones first inside a level", [
    ["x", { level: 1 }],
    ["y", { level: 1, bound: "a" }],
    ["z", { level: 0 }],
  ], "zyx"],
  ["the last level too", [["x", { level: LEVEL_COUNT - 1 }], ["y", {}]], "yx"],
];
for (const [what, arrivals, order] of ORDERS) {
  test(`a freed place goes on: ${what}`, () => {
    const queues = full(ONE);
    for (const [name, arrival] of arrivals) queues.arrive(name, arrival);
    for (const _ of arrivals) {
      queues.free("a");
      assertEquals(inFlight(queues, "a"), 1);
    }
    assertEquals(queues.served.join(""), order);
    queues.free("a");
    assertEquals(inFlight(queues, "a"), 0);
  });
}

test("a call that nobody has to wait for is granted at once", () => {
  const queues = new QueueWorld(ONE);
  const made = queues.arrive("x");
  assertEquals(made.servedBy, "a");
  assertEquals(queues.board.waitingCount, 0);
});

test("add() refuses the call after the last that may wait for a pool", () => {
  const endpoints = [
    { id: "a", limit: 1, models: ["m"] },
    { id: "b", limit: 1, models: ["n"] },
  ];
  const queues = full(endpoints, { callsMax: 2, workers: 2 });
  assert(queues.arrive("x", { model: "m" }).call !== undefined);
  assert(queues.arrive("y", { model: "m", worker: 1 }).call !== undefined);
  assertEquals(queues.arrive("z", { model: "m" }).call, undefined);
  assert(queues.arrive("o", { model: "n" }).call !== undefined);
  queues.free("a");
  assert(queues.arrive("w", { model: "m" }).call !== undefined);
});

test("callsMax 0 refuses every call", () => {
  assertEquals(full(ONE, { callsMax: 0 }).arrive("x").call, undefined);
});

test("pools are apart: a full model never holds up another (fault 7)", () => {
  const queues = full([
    { id: "a", limit: 1, models: ["m"] },
    { id: "b", limit: 1, models: ["n"] },
  ]);
  queues.arrive("x", { model: "m" });
  queues.arrive("y", { model: "n" });
  queues.free("b");
  assertEquals(queues.served, ["y"]);
  queues.free("b");
  assertEquals(inFlight(queues, "b"), 0);
  assertEquals(inFlight(queues, "a"), 1);
});

test("an endpoint of two pools serves the better call of either", () => {
  const queues = full([
    { id: "a", limit: 1, models: ["m", "n"] },
    { id: "b", limit: 1, models: ["n"] },
  ]);
  queues.arrive("x", { model: "m", level: 3 });
  queues.arrive("y", { model: "n", level: 2 });
  queues.free("a");
  queues.free("a");
  assertEquals(queues.served, ["y", "x"]);
});

test("a patient call waits for its endpoint, and then takes any", () => {
  const queues = full(TWO);
  const made = queues.arrive("x", { bound: "a", patienceMs: 1_000 });
  queues.free("b");
  assertEquals(inFlight(queues, "b"), 0);
  queues.pass(999);
  assertEquals(made.servedBy, undefined);
  queues.pass(1);
  assertEquals(made.servedBy, "b");
});

test("a patient call gets its endpoint when that is free first", () => {
  const queues = full(TWO);
  const made = queues.arrive("x", { bound: "a", patienceMs: 1_000 });
  queues.arrive("y");
  queues.free("a");
  assertEquals(made.servedBy, "a");
});

test("patience ends when the endpoint takes no work any more", () => {
  const queues = full(TWO);
  const { world } = queues;
  const made = queues.arrive("x", { bound: "a", patienceMs: 60_000 });
  queues.free("b");
  world.endpoints.setState(world.slot("a"), "ejected");
  queues.pass(50);
  assertEquals(made.servedBy, "b");
});

test("a call never gets an endpoint that has failed it", () => {
  const queues = full(TWO);
  const made = queues.arrive("x", { tried: ["a"] });
  queues.free("a");
  assertEquals(made.servedBy, undefined);
  queues.free("b");
  assertEquals(made.servedBy, "b");
});

test("a session of long calls is served for all the new ones (fault 1)", () => {
  const queues = full(ONE);
  const made = queues.arrive("old", { level: 5, boostMs: 2_000 });
  for (let count = 0; made.servedBy === undefined; count++) {
    assert(count < 100, "it starves");
    queues.arrive(`new ${count}`);
    queues.pass(100);
    queues.free("a");
  }
  // At 2 s it was promoted, and came before all that had come since.
  assertEquals(queues.nowMs, 2_000);
});

test("an overdue call goes before all others, the oldest first", () => {
  const queues = full(ONE);
  queues.arrive("x", { level: 9, overdueMs: 1_000 });
  queues.arrive("y", { level: 8, overdueMs: 1_000, bound: "a" });
  queues.pass(1_000);
  queues.arrive("z", { level: 0 });
  for (let count = 0; count < 3; count++) queues.free("a");
  assertEquals(queues.served, ["x", "y", "z"]);
});

test("a call that has waited as long as it may is told so once", () => {
  const queues = full(ONE);
  const made = queues.arrive("x", { timeoutMs: 500 });
  queues.pass(499);
  assertEquals(made.gaveUp, undefined);
  queues.pass(1);
  assertEquals(made.gaveUp, "timeout");
  queues.free("a");
  assertEquals(queues.served, []);
  assertEquals(inFlight(queues, "a"), 0);
});

test("a client that leaves holds nothing and gets nothing (fault 2)", () => {
  const queues = full(ONE);
  const made = queues.arrive("x");
  queues.arrive("y");
  assert(queues.leave(made));
  assertFalse(queues.leave(made));
  queues.free("a");
  assertEquals(queues.served, ["y"]);
  queues.free("a");
  assertEquals([inFlight(queues, "a"), queues.board.waitingCount], [0, 0]);
});

test("when the limit falls no place is given on (faults 3 and 5)", () => {
  const queues = full([{ id: "a", limit: 100 }]);
  for (let count = 0; count < 300; count++) queues.arrive(`${count}`);
  const slot = queues.world.slot("a");
  queues.world.endpoints.setLimit(slot, 1);
  for (let count = 0; count < 99; count++) {
    queues.free("a");
    queues.pass(5);
  }
  assertEquals([queues.served.length, inFlight(queues, "a")], [0, 1]);
  queues.free("a");
  assertEquals(queues.served.length, 1);
});

test("one pass gives away no more than there is room for (fault 4)", () => {
  const queues = full([{ id: "a", limit: 2 }], { workers: 3 });
  for (let count = 0; count < 9; count++) {
    queues.arrive(`${count}`, { worker: count % 3 });
  }
  queues.world.endpoints.setLimit(queues.world.slot("a"), 5);
  queues.pass(50);
  assertEquals(queues.served, ["0", "1", "2"]);
  assertEquals(inFlight(queues, "a"), 5);
});

test("calls wait from the first moment on, without a delay (fault 6)", () => {
  const queues = new QueueWorld([{ id: "a" }]);
  for (let count = 0; count < 50; count++) queues.arrive(`${count}`);
  assertEquals(queues.served.length, 50);
});

test("an engine that asked to be left alone gets one waiting call at a time", () => {
  const queues = full([{ id: "a", limit: 3 }]);
  const { world } = queues;
  const slot = world.slot("a");
  for (let count = 0; count < 5; count++) queues.arrive(`${count}`);
  world.endpoints.setBusyUntil(slot, 30_000);
  for (let count = 0; count < 3; count++) queues.free("a");
  assertEquals(queues.served, ["0"]);
  queues.pass(1_000);
  assertEquals(queues.served, ["0"]);
  // It has answered well.
  world.endpoints.setBusyUntil(slot, 0);
  queues.pass(50);
  assertEquals(queues.served, ["0", "1", "2"]);
});

test("an engine that asked to be left alone is passed by for one that has not", () => {
  const queues = full(TWO);
  const { world } = queues;
  queues.arrive("x");
  world.endpoints.setBusyUntil(world.slot("a"), 30_000);
  queues.free("a");
  assertEquals(queues.served, []);
  queues.free("b");
  assertEquals(queues.served, ["x"]);
});

test("an engine that asked to be left alone takes a call that all others have failed", () => {
  const queues = full(TWO);
  const { world } = queues;
  queues.arrive("x", { tried: ["b"] });
  world.endpoints.setBusyUntil(world.slot("a"), 30_000);
  queues.free("a");
  assertEquals(queues.served, ["x"]);
});

test("a refused connection costs one waiting call, not all of them", () => {
  const queues = full([{ id: "a", limit: 4 }]);
  const { endpoints } = queues.world;
  const health = new PassiveHealth(endpoints);
  const slot = queues.world.slot("a");
  const refused = () =>
    health.failed(slot, queues.nowMs, {
      code: "upstream_unreachable",
      pool: queues.world.pools.whole,
    });
  for (let count = 0; count < 9; count++) queues.arrive(`${count}`);
  refused();
  for (let count = 0; count < 4; count++) queues.free("a");
  queues.pass(500);
  assertEquals(queues.served, []);
  queues.pass(1_500);
  assertEquals(queues.served, ["0"]);
  refused();
  queues.free("a");
  assertEquals(queues.served, ["0"]);
  queues.pass(2_000);
  assertEquals(queues.served, ["0", "1"]);
  health.answered(slot, 200, undefined, queues.nowMs);
  queues.pass(50);
  assertEquals(queues.served, ["0", "1", "2", "3", "4"]);
});

test("giveUpAll() tells every call, and counts return to 0 (fault 12)", () => {
  const queues = full(TWO);
  const calls = ["x", "y", "z"].map((name) => queues.arrive(name));
  queues.queue().giveUpAll("unserved");
  assertEquals(calls.map(({ gaveUp }) => gaveUp), [
    "unserved",
    "unserved",
    "unserved",
  ]);
  assertEquals([queues.queue().size, queues.board.waitingCount], [0, 0]);
});

test("a place goes to the best call of all workers", () => {
  const queues = full(ONE, { workers: 3 });
  queues.arrive("x", { worker: 0, level: 2 });
  queues.arrive("y", { worker: 1, level: 1 });
  queues.arrive("z", { worker: 2, level: 1 });
  for (const worker of [0, 0, 0]) {
    queues.free("a", worker);
    // On its way the place is nobody's to take.
    assertFalse(queues.world.endpoints.tryReserve(queues.world.slot("a")));
    queues.settle();
  }
  assertEquals(queues.served, ["y", "z", "x"]);
});

test("a place on its way to a call that left goes on to the next", () => {
  const queues = full(ONE, { workers: 3 });
  const first = queues.arrive("x", { worker: 1 });
  queues.arrive("y", { worker: 2 });
  queues.free("a", 0);
  queues.leave(first);
  queues.settle();
  assertEquals(queues.served, ["y"]);
});

test("places of a dead worker go on, and its calls are forgotten", () => {
  const queues = full(TWO, { workers: 2 });
  queues.arrive("x", { worker: 1 });
  queues.arrive("y", { worker: 0, level: 3 });
  queues.free("a", 0);
  // Worker 1 dies with the place on its way.
  queues.board.reclaim(1, (slot) => queues.queue(0).release(slot, 0));
  assertEquals(queues.served, ["y"]);
  assertEquals(queues.board.waitingCount, 0);
  queues.free("a");
  queues.free("b");
  assertEquals([inFlight(queues, "a"), inFlight(queues, "b")], [0, 0]);
});

test("reroute() puts calls where their model is served now", () => {
  const queues = full([
    { id: "a", limit: 1, models: ["m"] },
    { id: "b", limit: 1, models: ["n"] },
  ]);
  const kept = queues.arrive("x", { model: "m" });
  const lost = queues.arrive("y", { model: "n" });
  queues.world.setEndpoints([
    { id: "a", limit: 1, models: ["m"] },
    { id: "c", limit: 1, models: ["m"] },
  ]);
  queues.queue().reroute(0);
  assertEquals([kept.servedBy, lost.gaveUp], ["c", "unserved"]);
});

test("the board counts calls by level, and the longest wait", () => {
  const queues = full(ONE, { workers: 2 });
  queues.arrive("x", { level: 2, overdueMs: 80, worker: 1 });
  queues.pass(30);
  queues.arrive("y", { level: 2 });
  queues.arrive("z", { level: 1, boostMs: 50 });
  queues.pass(50);
  const { board } = queues;
  assertEquals(
    [-1, 0, 1, 2].map((level) => board.waitingOn(level)),
    [1, 1, 0, 1],
  );
  assertEquals(board.longestWaitMs, 80);
  assertEquals([board.ownWaiting(0), board.ownWaiting(1)], [2, 1]);
});

const arrivals = fc.record({
  kind: fc.constant("arrive" as const),
  worker: fc.nat({ max: 3 }),
  level: fc.nat({ max: 3 }),
  bound: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
  model: fc.option(fc.constantFrom("m", "n"), { nil: undefined }),
  patienceMs: fc.constantFrom(0, 0, 100, 1_000),
  boostMs: fc.constantFrom(Infinity, 50, 300),
  overdueMs: fc.constantFrom(Infinity, 500),
});
const events = fc.oneof(
  { weight: 4, arbitrary: arrivals },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("free" as const),
      id: fc.constantFrom("a", "b", "c"),
      worker: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("leave" as const),
      at: fc.nat({ max: 1_000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 49, 100, 400),
    }),
  },
);

/** Bound to an endpoint that does not serve the model is bound to none. */
function boundInPool(arrival: { bound?: string | undefined; model?: string }) {
  const isServed = arrival.model === undefined || arrival.bound === "b" ||
    arrival.bound === (arrival.model === "m" ? "a" : "c");
  return isServed ? arrival.bound : undefined;
}

test("four workers serve in the order of a single queue", () => {
  fc.assert(
    fc.property(fc.array(events, { maxLength: 120 }), (list) => {
      const queues = full([
        { id: "a", limit: 2, models: ["m"] },
        { id: "b", limit: 1, models: ["m", "n"] },
        { id: "c", limit: 3, models: ["n"] },
      ], { workers: 4 });
      const { endpoints } = queues.world;
      let count = 0;
      for (const event of list) {
        if (event.kind === "arrive") {
          const { bound: _, model, ...rest } = event;
          const options = model === undefined ? {} : { model };
          const bound = boundInPool({ bound: event.bound, ...options });
          queues.arrive(`${count++}`, {
            ...rest,
            ...options,
            ...(bound === undefined ? {} : { bound }),
          });
        } else if (event.kind === "leave") {
          const made = queues.waiting[event.at % queues.waiting.length];
          if (made !== undefined) queues.leave(made);
        } else if (event.kind === "pass") {
          queues.pass(event.ms);
        } else if (inFlight(queues, event.id) > 0) {
          const expected = queues.expected(event.id);
          const before = queues.served.length;
          queues.free(event.id, event.worker);
          queues.settle();
          assertEquals(queues.served[before], expected?.name);
        }
        for (const id of ["a", "b", "c"]) {
          const slot = queues.world.slot(id);
          const isFree = endpoints.inFlight(slot) < endpoints.limit(slot);
          // Nobody waits for what is free.
          if (isFree) assertEquals(queues.expected(id)?.name, undefined);
          assert(endpoints.inFlight(slot) <= endpoints.limit(slot));
        }
        assertEquals(queues.board.waitingCount, queues.waiting.length);
      }
    }),
    { numRuns: 300 },
  );
});
