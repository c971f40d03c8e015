/**
 * Where places of calls go that no thread serves any more.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { QueueWorld } from "../../../tests/queue_world.ts";
import { PlaceKeeper, takesWork } from "./place_keeper.ts";

/** A world whose one endpoint is full, and what keeps its places. */
function world(limit = 1): {
  queues: QueueWorld;
  keeper: PlaceKeeper;
  slot: number;
} {
  const queues = new QueueWorld([{ id: "a", limit }], { workers: 2 });
  queues.fill();
  const keeper = new PlaceKeeper(queues.board, queues.world.endpoints);
  return { queues, keeper, slot: queues.world.slot("a") };
}

type Change = (queues: QueueWorld, slot: number) => void;

const USELESS: [what: string, change: Change, left: number][] = [
  ["takes no work any more", ({ world: { endpoints } }, slot) => {
    endpoints.setState(slot, "draining");
  }, 1],
  ["is busy by its own word", ({ world: { endpoints } }, slot) => {
    endpoints.setBusyUntil(slot, 60_000);
  }, 1],
  ["holds more than it may by now", ({ world: { endpoints } }, slot) => {
    endpoints.setLimit(slot, 1);
  }, 1],
];
for (const [what, change, left] of USELESS) {
  test(`release() frees the place of an endpoint that ${what}`, () => {
    const { keeper, queues, slot } = world(2);
    const made = queues.arrive("x", { worker: 1 });
    change(queues, slot);
    keeper.release(slot, 0);
    queues.settle();
    assertEquals(made.servedBy, undefined);
    assertEquals(queues.world.endpoints.inFlight(slot), left);
  });
}

test("release() hands the place to the best call of all workers", () => {
  const { keeper, queues, slot } = world();
  queues.arrive("late", { worker: 0, level: 1 });
  queues.arrive("soon", { worker: 1 });
  keeper.release(slot, 0);
  assertEquals(queues.world.endpoints.inFlight(slot), 1);
  queues.settle();
  assertEquals(queues.served, ["soon"]);
});

test("release() frees the place when nobody waits for it", () => {
  const { keeper, queues, slot } = world();
  keeper.release(slot, 0);
  assertEquals(queues.world.endpoints.inFlight(slot), 0);
});

test("an endpoint takes work up to its limit, or without one", () => {
  for (
    const [limit, takes] of [[0, true], [1, false], [2, true], [3, true]] as [
      number,
      boolean,
    ][]
  ) {
    const { queues: { world: { endpoints } }, slot } = world(2);
    endpoints.setLimit(slot, limit);
    assertEquals(
      takesWork(endpoints, slot, { nowMs: 0, isReserved: true }),
      takes,
      `limit ${limit}`,
    );
  }
});
