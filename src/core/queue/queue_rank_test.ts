/**
 * The order of ranks, as tables and against plain tuples.
 *
 * @module
 */
import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { goesBefore, NOBODY, packRank } from "./queue_rank.ts";
import { LEVEL_COUNT } from "../scheduling_policy.ts";

const LAST = LEVEL_COUNT - 1;

/** Arrivals are kept in 25 bits, and compared over half of that. */
const WRAP = 2 ** 25;
const HALF = 2 ** 24;

type Facts = readonly [level: number, isAway: boolean, arrival: number];

const PAIRS: [what: string, first: Facts, second: Facts][] = [
  ["an overdue call, whatever else", [-1, true, 9], [0, false, 1]],
  ["the older of two overdue ones, bound or not", [-1, true, 1], [
    -1,
    false,
    2,
  ]],
  ["the more urgent level", [0, true, 9], [1, false, 1]],
  ["the last level but one", [LAST - 1, true, 9], [LAST, false, 1]],
  ["a bound call inside a level", [3, false, 9], [3, true, 1]],
  ["the older call inside a level", [3, true, 1], [3, true, 2]],
  ["the older call at the last count", [0, true, WRAP - 1], [0, true, WRAP]],
  ["the older call over the last count", [LAST, false, WRAP - 2], [
    LAST,
    false,
    WRAP + 1,
  ]],
  ["the older call just below half of all", [0, true, 5], [
    0,
    true,
    5 + HALF - 1,
  ]],
  ["the older call where counts turn negative", [0, true, 2 ** 31 - 1], [
    0,
    true,
    -(2 ** 31),
  ]],
];
for (const [what, first, second] of PAIRS) {
  test(`goesBefore() puts first ${what}`, () => {
    const [one, other] = [packRank(...first), packRank(...second)];
    assert(goesBefore(one, other));
    assertFalse(goesBefore(other, one));
  });
}

test("no rank is that of nobody, and none goes before itself", () => {
  for (const level of [-1, 0, LAST]) {
    for (const isAway of [false, true]) {
      for (const arrival of [0, WRAP - 1, WRAP, -1, 2 ** 31 - 1]) {
        const rank = packRank(level, isAway, arrival);
        assert(rank !== NOBODY && rank >= 0, `${rank}`);
        assertEquals(rank | 0, rank, "it fits a shared word");
        assertFalse(goesBefore(rank, rank));
      }
    }
  }
});

test("ranks sort as their facts do, wherever arrivals wrap", () => {
  const facts = fc.record({
    level: fc.integer({ min: -1, max: LAST }),
    isAway: fc.boolean(),
    ahead: fc.nat({ max: HALF - 1 }),
  });
  fc.assert(
    fc.property(fc.array(facts), fc.integer(), (list, start) => {
      const calls = list.map(({ level, isAway, ahead }) => ({
        rank: packRank(level, isAway, start + ahead),
        plain: [level, level >= 0 && isAway ? 1 : 0, ahead],
      }));
      for (const one of calls) {
        for (const other of calls) {
          const at = one.plain.findIndex((it, i) => it !== other.plain[i]);
          const wanted = (one.plain[at] ?? 0) < (other.plain[at] ?? 0);
          assertEquals(goesBefore(one.rank, other.rank), wanted);
        }
      }
    }),
  );
});
