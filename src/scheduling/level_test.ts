/**
 * Tests of levels, and of the policies that put service on them.
 *
 * Invariant: each table has bad input first, then the edges of levels and
 * their neighbors.
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
import { criticalPath } from "./critical_path.ts";
import { fcfs } from "./fcfs.ts";
import { las } from "./las.ts";
import { levelOf } from "./level.ts";

const TOP = LEVEL_COUNT - 1;

/** A session that has done nothing yet. */
const NEW: SchedulingFacts = {
  criticalPathMs: 0,
  attainedMs: 0,
  servedCount: 0,
  expectedMs: undefined,
};

test("levelOf() has a level for what is no size", () => {
  const table: [ratio: number, level: number][] = [
    [NaN, 0],
    [-Infinity, 0],
    [-1, 0],
    [-0, 0],
    [0, 0],
    [Number.MIN_VALUE, 0],
    [Infinity, TOP],
    [Number.MAX_VALUE, TOP],
    [2 ** 32, TOP],
    [2 ** 31, TOP],
  ];
  for (const [ratio, level] of table) {
    assertEquals(levelOf(ratio), level, `${ratio}`);
  }
});

test("levelOf() steps up exactly at each power of two", () => {
  for (let level = 1; level <= TOP; level++) {
    const edge = 2 ** (level - 1);
    const below = edge * (1 - 2 ** -53);
    assertEquals(levelOf(below), level - 1, `below ${edge}`);
    assertEquals(levelOf(edge), level, `at ${edge}`);
    assertEquals(levelOf(edge * (1 + 2 ** -52)), level, `above ${edge}`);
  }
});

test("levelOf() never falls", () => {
  fc.assert(
    fc.property(
      fc.double({ noNaN: true }),
      fc.double({ noNaN: true }),
      (a, b) => {
        if (a > b) return;
        assert(levelOf(a) <= levelOf(b), `${a} ${b}`);
      },
    ),
  );
});

test("las goes by attained service, critical_path by the path alone", () => {
  const table: [ms: number, level: number][] = [
    [0, 0],
    [59_999, 0],
    [60_000, 1],
    [119_999, 1],
    [120_000, 2],
    [239_999, 2],
    [240_000, 3],
    [3_600_000, 6],
  ];
  for (const [ms, level] of table) {
    const attained = { ...NEW, attainedMs: ms };
    const path = { ...NEW, criticalPathMs: ms };
    assertEquals(las.create().level(attained), level, `${ms}`);
    assertEquals(las.create().level(path), 0, `${ms}`);
    assertEquals(criticalPath.create().level(path), level, `${ms}`);
    assertEquals(criticalPath.create().level(attained), 0, `${ms}`);
    assertEquals(fcfs.create().level({ ...attained, ...path }), 0, `${ms}`);
  }
});

test("a wide session falls behind under las, not under critical_path", () => {
  // Ten calls of 50 s at once, against one session of 100 s in a chain.
  const wide = { ...NEW, attainedMs: 500_000, criticalPathMs: 50_000 };
  const deep = { ...NEW, attainedMs: 100_000, criticalPathMs: 100_000 };
  const [byTotal, byPath] = [las.create(), criticalPath.create()];
  assert(byTotal.level(wide) > byTotal.level(deep));
  assert(byPath.level(wide) < byPath.level(deep));
});
