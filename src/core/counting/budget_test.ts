/**
 * Budgets are shared, bounded, fair to small bodies, and survive a worker.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { Budget } from "./budget.ts";

const LIMITS = { requests: 3, sniffBytes: 1_048_576 };

function budgets(): [Budget, Budget] {
  const buffer = new SharedArrayBuffer(Budget.bytesFor(2));
  return [new Budget(buffer, 0, LIMITS), new Budget(buffer, 1, LIMITS)];
}

test("Budget.takeRequest() stops at the limit over all workers", () => {
  const [one, other] = budgets();
  assertEquals([one.takeRequest(), other.takeRequest()], [true, true]);
  assertEquals([one.takeRequest(), other.takeRequest()], [true, false]);
  one.giveRequest();
  assertEquals([other.takeRequest(), one.takeRequest()], [true, false]);
  assertEquals(one.held().requests, 3);
});

test("Budget.takeSniff() keeps the last eighth for small bodies", () => {
  const [one, other] = budgets();
  const units = one.takeSniff(900_000, 0);
  assertEquals(units, 879);
  assertEquals(one.takeSniff(65_536, 65_536), -1);
  assertEquals(other.takeSniff(65_536, 0), 64);
  assertEquals(other.takeSniff(65_537, 0), -1);
  one.giveSniff(units);
  assertEquals(other.held().sniffBytes, 65_536);
  assertEquals(other.takeSniff(65_537, 0), 65);
});

test("Budget.reclaim() gives back a dead worker's share, once", () => {
  const [one, other] = budgets();
  one.takeRequest();
  other.takeRequest();
  one.takeSniff(2_048, 0);
  one.reclaim();
  one.reclaim();
  assertEquals(other.held(), { requests: 1, sniffBytes: 0 });
});
