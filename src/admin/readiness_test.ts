/**
 * Readiness says no for each of its reasons, the most telling one first.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type ReadinessFacts, readinessOf } from "./readiness.ts";

test("readinessOf() names the first reason that stands in the way", () => {
  const well: ReadinessFacts = {
    isStopping: false,
    eligible: 1,
    total: 3,
    serving: 2,
    workers: 2,
  };
  const rows: readonly [Partial<ReadinessFacts>, string | undefined][] = [
    [{ isStopping: true }, "stopping"],
    [{ isStopping: true, serving: 0, eligible: 0 }, "stopping"],
    [{ serving: 0 }, "0 of 2 workers serve"],
    [{ serving: 0, eligible: 0 }, "0 of 2 workers serve"],
    [{ eligible: 0 }, "0 of 3 endpoints are eligible"],
    [{ eligible: 0, total: 0 }, "0 of 0 endpoints are eligible"],
    [{ serving: 1 }, undefined],
    [{}, undefined],
  ];
  for (const [change, reason] of rows) {
    const readiness = readinessOf({ ...well, ...change });
    assertEquals(readiness.reason, reason);
    assertEquals(
      readiness.status,
      reason === undefined ? "ready" : "not ready",
    );
  }
});

test("readinessOf() tells of workers that are missing", () => {
  const facts = { isStopping: false, eligible: 1, total: 1, workers: 4 };
  assertEquals(readinessOf({ ...facts, serving: 3 }), {
    status: "ready",
    eligible: 1,
    total: 1,
    workers: { serving: 3, wanted: 4 },
  });
});
