/**
 * The board by itself: counts, heads and grants of several workers.
 *
 * @module
 */
import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { ENDPOINTS_MAX } from "../endpoints/endpoint_table.ts";
import { QueueBoard } from "./queue_board.ts";
import { NOBODY, packRank } from "./queue_rank.ts";
import { LEVEL_COUNT } from "../scheduling_policy.ts";

/** Pools with a count of their own; all others share one. */
const OWN_CELLS = 255;

/** The seed that would be stored as a free cell, were it stored as it is. */
const ZERO_MARKED_SEED = -0x5bd1e995;

function taken(board: QueueBoard, worker: number): number[] {
  const slots: number[] = [];
  board.takeGrants(worker, (slot) => slots.push(slot));
  return slots.sort((a, b) => a - b);
}

test("a board attached to a buffer sees what another has done", () => {
  const board = QueueBoard.create(3);
  const other = new QueueBoard(board.buffer);
  assertEquals(other.workerCount, 3);
  assert(board.enter(2, 0, 1));
  board.grant(1, 7);
  assertEquals([other.waitingCount, other.ownWaiting(2)], [1, 1]);
  assertEquals(taken(other, 1), [7]);
});

test("enter() refuses the call after the last, and counts nothing of it", () => {
  const board = QueueBoard.create(2);
  assertFalse(board.enter(0, 3, 0));
  assert(board.enter(0, 3, 2));
  assert(board.enter(1, 3, 2));
  assertFalse(board.enter(0, 3, 2));
  assert(board.enter(0, 4, 2), "another pool has its own count");
  assertEquals(
    [board.waitingCount, board.ownWaiting(0), board.ownWaiting(1)],
    [3, 2, 1],
  );
  board.leave(1, 3);
  assert(board.enter(0, 3, 2));
});

test("poolCell() keeps pools apart, whichever thread asks", () => {
  const board = QueueBoard.create(1);
  const other = new QueueBoard(board.buffer);
  const seeds = [0, 1, -1, ZERO_MARKED_SEED, 2 ** 31 - 1, -(2 ** 31)];
  const cells = seeds.map((seed) => board.poolCell(seed));
  assertEquals(new Set(cells).size, seeds.length);
  assertEquals(seeds.map((seed) => other.poolCell(seed)), cells);
});

test("poolCell() gives pools beyond its room the last cell, and no other", () => {
  const board = QueueBoard.create(1);
  for (let seed = 1; seed <= OWN_CELLS; seed++) {
    assertEquals(board.poolCell(seed), seed - 1);
  }
  assertEquals([256, 257, 0].map((seed) => board.poolCell(seed)), [
    OWN_CELLS,
    OWN_CELLS,
    OWN_CELLS,
  ]);
  assertEquals(board.poolCell(1), 0);
});

test("best() is the worker of the best head, or none", () => {
  const board = QueueBoard.create(3);
  assertEquals(board.best(5), -1);
  board.show(2, 5, packRank(4, true, 1));
  board.show(0, 6, packRank(0, true, 0));
  assertEquals(board.best(5), 2);
  board.show(0, 5, packRank(3, true, 9));
  board.show(1, 5, packRank(3, false, 10));
  assertEquals(board.best(5), 1);
  board.show(1, 5, NOBODY);
  assertEquals(board.best(5), 0);
});

test("takeGrants() takes each place once, of any slot and number", () => {
  const board = QueueBoard.create(2);
  const slots = [0, 31, 32, 32, 32, 63, 255];
  for (const slot of slots) board.grant(1, slot);
  assertEquals(taken(board, 0), []);
  assertEquals(taken(board, 1), slots);
  assertEquals(taken(board, 1), []);
});

test("a place that is granted while others are taken is taken later", () => {
  const board = QueueBoard.create(1);
  board.grant(0, 9);
  const slots: number[] = [];
  board.takeGrants(0, (slot) => {
    slots.push(slot);
    if (slots.length < 3) board.grant(0, slot);
  });
  // The first pass ends; what came meanwhile waits for its own bell.
  assertEquals(slots, [9]);
  assertEquals(taken(board, 0), [9]);
});

test("grant() changes the bell of its worker alone, and is counted", () => {
  const board = QueueBoard.create(2);
  const rings = () =>
    [0, 1].map((worker) => {
      const { words, index } = board.bell(worker);
      return words[index] ?? 0;
    });
  const before = rings();
  board.grant(1, 0);
  board.grant(1, 0);
  assertEquals(rings(), [before[0] ?? 0, (before[1] ?? 0) + 2]);
  assertEquals(board.handOverCount, 2);
});

test("levels are counted from the overdue ones to the last", () => {
  const board = QueueBoard.create(2);
  for (const level of [-1, 0, LEVEL_COUNT - 1]) {
    board.countLevel(0, level, 1);
    board.countLevel(1, level, 2);
    assertEquals(board.waitingOn(level), 3);
  }
  assertEquals(board.waitingOn(1), 0);
});

test("reclaim() forgets a dead worker's calls and passes its places on", () => {
  const board = QueueBoard.create(2);
  const [dead, living] = [0, 1];
  for (const worker of [dead, dead, living]) board.enter(worker, 3, 9);
  board.enter(dead, OWN_CELLS, 9);
  board.countLevel(dead, -1, 1);
  board.countLevel(dead, LEVEL_COUNT - 1, 1);
  board.countLevel(living, LEVEL_COUNT - 1, 1);
  board.noteLongest(dead, 9_000);
  board.noteLongest(living, 5);
  board.show(dead, 8, packRank(0, false, 0));
  board.show(living, 8, packRank(9, true, 1));
  board.grant(dead, 8);
  board.grant(dead, 8);
  board.grant(dead, ENDPOINTS_MAX - 1);
  const places: number[] = [];
  const bests: number[] = [];
  board.reclaim(dead, (slot) => {
    places.push(slot);
    bests.push(board.best(8));
  });
  assertEquals(places.sort((a, b) => a - b), [8, 8, ENDPOINTS_MAX - 1]);
  // Nothing is handed back to the dead one.
  assertEquals(new Set(bests), new Set([living]));
  assertEquals(
    [board.waitingCount, board.ownWaiting(dead), board.ownWaiting(living)],
    [1, 0, 1],
  );
  assertEquals(
    [board.waitingOn(-1), board.waitingOn(LEVEL_COUNT - 1)],
    [0, 1],
  );
  assertEquals(board.longestWaitMs, 5);
  // The pools' counts are right too: one of two is left.
  assert(board.enter(living, 3, 2));
  assertFalse(board.enter(living, 3, 2));
  assert(board.enter(living, OWN_CELLS, 1));
  board.reclaim(dead, () => assert(false, "a place is given back twice"));
  assertEquals(board.waitingCount, 3);
});

test("every place that is granted is taken once, however turns mix", () => {
  const steps = fc.array(fc.record({
    isTaking: fc.boolean(),
    worker: fc.nat({ max: 2 }),
    slot: fc.constantFrom(0, 1, 31, 32, 255),
  }));
  fc.assert(fc.property(steps, (list) => {
    const board = QueueBoard.create(3);
    const model: number[][] = [[], [], []];
    for (const { isTaking, slot, worker } of list) {
      if (isTaking) {
        const wanted = model[worker]?.splice(0).sort((a, b) => a - b);
        assertEquals(taken(board, worker), wanted);
      } else {
        board.grant(worker, slot);
        model[worker]?.push(slot);
      }
    }
    for (const [worker, left] of model.entries()) {
      assertEquals(taken(board, worker), left.sort((a, b) => a - b));
    }
  }));
});
