/**
 * The queue when one worker comes between any two steps of another.
 *
 * A place that is freed and a call that comes to wait look for each other:
 * whichever is interrupted by the other, they must meet without the tick.
 *
 * Invariant: steps are counted on the real `Atomics`, so the board under test
 * is the one that ships; nobody's tick runs before places are looked at.
 *
 * @module
 */
import { stub } from "@std/testing/mock";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { PlaceKeeper } from "../../src/core/placement/place_keeper.ts";
import { test } from "../leakproof.ts";
import { type Arrival, QueueWorld, type WorldCall } from "../queue_world.ts";
import { interrupted } from "./between_steps.ts";

/** Far above the steps of any act here. */
const STEPS_MAX = 2_000;

/** Endpoints, all places of which are taken at the start. */
const ENDPOINTS = [{ id: "a", limit: 1 }, { id: "b", limit: 2 }];

/** A world, and how many places are held in it by whoever was served. */
class Ledgered {
  readonly queues = new QueueWorld(ENDPOINTS, { workers: 3 });
  readonly keeper = new PlaceKeeper(
    this.queues.board,
    this.queues.world.endpoints,
  );
  readonly calls: WorldCall[][] = [[], [], []];
  readonly #freed = new Map<string, number>();

  constructor() {
    this.queues.fill();
  }

  arrive(worker: number, arrival: Arrival = {}): void {
    const name = `${worker}.${this.calls[worker]?.length}`;
    const made = this.queues.arrive(name, { ...arrival, worker });
    this.calls[worker]?.push(made);
  }

  leave(worker: number): void {
    const made = this.calls[worker]?.at(-1);
    if (made?.servedBy === undefined && made !== undefined) {
      this.queues.leave(made);
    }
  }

  /** A place is given back by a worker, or by the main thread for one. */
  free(id: string, by: number | "keeper"): void {
    const { queues } = this;
    if (this.held(id) === 0) return;
    this.#freed.set(id, (this.#freed.get(id) ?? 0) + 1);
    if (by === "keeper") this.keeper.release(queues.world.slot(id), 0);
    else queues.free(id, by);
  }

  /** Places of those who were there before, or served, and not given back. */
  held(id: string): number {
    const limit = ENDPOINTS.find((it) => it.id === id)?.limit ?? 0;
    const served = this.calls.flat().filter(({ servedBy }) => servedBy === id);
    return limit + served.length - (this.#freed.get(id) ?? 0);
  }

  inFlight(id: string): number {
    const { endpoints } = this.queues.world;
    return endpoints.inFlight(this.queues.world.slot(id));
  }

  /** Everybody has met, and no place is lost or used twice. */
  check(): void {
    const { queues } = this;
    queues.settle();
    for (const { id, limit } of ENDPOINTS) {
      if (this.inFlight(id) >= limit) continue;
      const left = queues.expected(id)?.name;
      assertEquals(left, undefined, `"${left}" waits while "${id}" has room`);
    }
    this.#checkPlaces();
    for (let round = 0; queues.waiting.length > 0; round++) {
      assert(round < 10, "a call is never served");
      for (const { id } of ENDPOINTS) this.free(id, 2);
      queues.settle();
    }
    this.#checkPlaces();
    assertEquals(queues.board.waitingCount, 0);
  }

  #checkPlaces(): void {
    const { served } = this.queues;
    for (const { id } of ENDPOINTS) {
      const [inFlight, held] = [this.inFlight(id), this.held(id)];
      assertEquals(inFlight, held, "a place is lost, or used twice");
    }
    assertEquals(new Set(served).size, served.length, "a call is served twice");
  }
}

type Act = (world: Ledgered, worker: number) => void;

const ACTS: Readonly<Record<string, Act>> = {
  "arrive": (world, worker) => world.arrive(worker),
  "arrive, late": (world, worker) => world.arrive(worker, { level: 3 }),
  "arrive, bound": (world, worker) => world.arrive(worker, { bound: "a" }),
  "arrive, patient": (world, worker) =>
    world.arrive(worker, { bound: "a", patienceMs: 1_000 }),
  "arrive, failed by one": (world, worker) =>
    world.arrive(worker, { tried: ["b"] }),
  "arrive twice": (world, worker) => {
    world.arrive(worker);
    world.arrive(worker);
  },
  "leave": (world, worker) => world.leave(worker),
  "arrive, leave": (world, worker) => {
    world.arrive(worker);
    world.leave(worker);
  },
  "free": (world, worker) => world.free("a", worker),
  "free another": (world, worker) => world.free("b", worker),
  "free both": (world, worker) => {
    world.free("a", worker);
    world.free("b", worker);
  },
  "keeper frees": (world) => world.free("a", "keeper"),
  "collect": ({ queues }, worker) => queues.queue(worker).collect(0),
  "tick": ({ queues }, worker) => queues.queue(worker).tick(0),
};

const STARTS: Readonly<Record<string, (world: Ledgered) => void>> = {
  "nobody waits": () => {},
  "a place is free": (world) => world.free("b", 2),
  "one of two places is on its way": (world) => {
    world.arrive(0);
    world.arrive(0, { level: 1 });
    world.free("b", 2);
  },
  "one waits": (world) => world.arrive(0),
  "the other waits": (world) => world.arrive(1),
  "both wait": (world) => {
    world.arrive(0, { level: 2 });
    world.arrive(1);
  },
  "a third waits": (world) => world.arrive(2, { level: 1 }),
  "a place is on its way": (world) => {
    world.arrive(0);
    world.free("a", 2);
  },
  "a place is on its way to the other, and one waits": (world) => {
    world.arrive(1);
    world.arrive(0, { level: 2 });
    world.free("a", 2);
  },
};

/** One run; false when the act has no step `at`. */
function runOnce(
  start: (world: Ledgered) => void,
  acts: { readonly act: Act; readonly other: Act },
  at: number,
): boolean {
  const world = new Ledgered();
  start(world);
  const isInterrupted = interrupted(
    at,
    () => acts.act(world, 0),
    () => acts.other(world, 1),
  );
  if (isInterrupted) world.check();
  return isInterrupted;
}

/** Interrupts an act at each of its steps in turn. */
function runAll(
  start: (world: Ledgered) => void,
  acts: { readonly act: Act; readonly other: Act },
): void {
  let at = 0;
  try {
    while (at < STEPS_MAX && runOnce(start, acts, at)) at++;
  } catch (error) {
    throw new Error(`Cannot interrupt step ${at}`, { cause: error });
  }
  assert(at < STEPS_MAX, "the act has no end");
}

for (const [name, start] of Object.entries(STARTS)) {
  test(`a worker between any two steps of another: ${name}`, () => {
    for (const [one, act] of Object.entries(ACTS)) {
      for (const [two, other] of Object.entries(ACTS)) {
        try {
          runAll(start, { act, other });
        } catch (error) {
          throw new Error(`Cannot do "${one}" with "${two}"`, { cause: error });
        }
      }
    }
  });
}

test("a call that looks for a place before it is shown would be found", () => {
  const wrong: Act = (world, worker) => {
    const { endpoints } = world.queues.world;
    const slot = world.queues.world.slot("a");
    const isFree = endpoints.tryReserve(slot);
    if (isFree) endpoints.release(slot);
    using _blind = isFree
      ? undefined
      : stub(endpoints, "tryReserve", () => false);
    world.arrive(worker);
  };
  assertThrows(
    () =>
      runAll(() => {}, { act: wrong, other: (world) => world.free("a", 1) }),
    Error,
    "Cannot interrupt step",
  );
});

test("whoever frees a place and does not look again would be found", () => {
  const wrong: Act = ({ queues }) => {
    const { board, world: { endpoints } } = queues;
    const slot = queues.world.slot("a");
    const best = board.waitingCount > 0 ? board.best(slot) : -1;
    if (best >= 0) board.grant(best, slot);
    else endpoints.release(slot);
  };
  assertThrows(
    () => runAll(() => {}, { act: wrong, other: (world) => world.arrive(1) }),
    Error,
    "Cannot interrupt step",
  );
});

test("a place that reaches a dead worker's row late is its successor's to pass on", () => {
  for (let at = 0; at < STEPS_MAX; at++) {
    const { queues } = new Ledgered();
    queues.arrive("lost", { worker: 1 });
    queues.arrive("waits", { worker: 2, level: 5 });
    const slot = queues.world.slot("a");
    const isInterrupted = interrupted(
      at,
      () => queues.free("a", 0),
      () =>
        queues.board.reclaim(1, (place) => queues.queue(0).release(place, 0)),
    );
    if (!isInterrupted) return;
    // As a worker does that has just begun to listen.
    queues.board.takeGrants(1, (place) => queues.queue(1).release(place, 0));
    queues.settle();
    assertEquals(queues.served, ["waits"], `step ${at}`);
    assertEquals(queues.world.endpoints.inFlight(slot), 1);
  }
});
