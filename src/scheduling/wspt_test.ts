/**
 * Tests of weighted shortest processing time: which size counts, and what is
 * learned.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import {
  LEVEL_COUNT,
  type SchedulingFacts,
} from "../core/scheduling_policy.ts";
import { wspt } from "./wspt.ts";

/** A call of which nothing is known. */
const UNKNOWN: SchedulingFacts = {
  criticalPathMs: 0,
  attainedMs: 0,
  servedCount: 0,
  expectedMs: undefined,
};

/** The level of a call that is expected to take as long as that. */
function expected(expectedMs: number): number {
  return wspt.create().level({ ...UNKNOWN, expectedMs });
}

test("wspt has levels of half powers of two", () => {
  const table: [ms: number, level: number][] = [
    [0, 0],
    [99, 0],
    [100, 1],
    [141, 1],
    [142, 2],
    [199, 2],
    [200, 3],
    [282, 3],
    [283, 4],
    [400, 5],
    [800, 7],
    [1_600, 9],
    [1_638_300, LEVEL_COUNT - 2],
    [1_638_400, LEVEL_COUNT - 1],
    [Infinity, LEVEL_COUNT - 1],
  ];
  for (const [ms, level] of table) assertEquals(expected(ms), level, `${ms}`);
});

test("wspt takes the client's word, then the session's, then the mean", () => {
  const policy = wspt.create();
  policy.served?.(6_400);
  const session = { ...UNKNOWN, attainedMs: 4_800, servedCount: 3 };
  const table: [facts: SchedulingFacts, sizeMs: number][] = [
    [{ ...session, expectedMs: NaN }, 1_600],
    [{ ...session, expectedMs: -1 }, 1_600],
    [{ ...session, attainedMs: NaN }, 6_400],
    [{ ...session, attainedMs: -1 }, 6_400],
    [{ ...session, servedCount: NaN }, 6_400],
    [{ ...session, attainedMs: Infinity, servedCount: Infinity }, 6_400],
    [UNKNOWN, 6_400],
    [session, 1_600],
    [{ ...session, expectedMs: 0 }, 0],
    [{ ...session, expectedMs: 200 }, 200],
    [{ ...session, criticalPathMs: 99_999 }, 1_600],
  ];
  for (const [facts, sizeMs] of table) {
    assertEquals(
      policy.level(facts),
      expected(sizeMs),
      JSON.stringify(facts),
    );
  }
});

test("wspt learns the mean of all calls and no nonsense", () => {
  const policy = wspt.create();
  assertEquals(policy.level(UNKNOWN), expected(1_000));
  for (const bad of [NaN, Infinity, -Infinity, -1]) policy.served?.(bad);
  assertEquals(policy.level(UNKNOWN), expected(1_000));
  policy.served?.(210);
  assertEquals(policy.level(UNKNOWN), expected(210));
  policy.served?.(630);
  assertEquals(policy.level(UNKNOWN), expected(420));
  policy.served?.(0);
  policy.served?.(0);
  assertEquals(policy.level(UNKNOWN), expected(210));
});

test("wspt follows a load that changes for good", () => {
  const policy = wspt.create();
  for (let i = 0; i < 100_000; i++) policy.served?.(200);
  assertEquals(policy.level(UNKNOWN), expected(200));
  for (let i = 0; i < 10_000; i++) policy.served?.(6_500);
  assertEquals(policy.level(UNKNOWN), expected(6_500));
});

test("wspt stays within what it was told", () => {
  const durations = fc.array(fc.double({ min: 1, max: 1e9, noNaN: true }), {
    minLength: 1,
    maxLength: 50,
  });
  fc.assert(fc.property(durations, (list) => {
    const policy = wspt.create();
    for (const ms of list) policy.served?.(ms);
    const level = policy.level(UNKNOWN);
    // A hair for what adding rounds.
    assert(level >= expected(Math.min(...list) * (1 - 1e-9)));
    assert(level <= expected(Math.max(...list) * (1 + 1e-9)));
  }));
});
