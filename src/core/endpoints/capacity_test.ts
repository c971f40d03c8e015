/**
 * The rule by which a limit is learned, without time or threads.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import {
  CAPACITY_CHANGES,
  type CapacityCause,
  type CapacityFacts,
  capacityRule,
  LEARNED_LIMIT,
} from "./capacity.ts";

/** A round that raises the limit. */
const GOOD: CapacityFacts = {
  limit: 64,
  hasFast: true,
  isReached: true,
  isLoaded: true,
  isHalfFull: true,
  isUnconfirmed: false,
  isInVain: false,
  isEngineIdle: false,
  isCacheFull: false,
};

test("judge() and limitAfter() say what a round means", () => {
  const rows: [
    facts: Partial<CapacityFacts>,
    cause: CapacityCause,
    limit: number,
  ][] = [
    [{ hasFast: false }, "slow_first_byte", 51],
    [{ hasFast: false, limit: 9 }, "slow_first_byte", 8],
    [{ hasFast: false, limit: 8 }, "lowest", 8],
    [{ hasFast: false, isLoaded: false }, "lowest", 64],
    [{ hasFast: false, isUnconfirmed: true }, "slow_first_byte", 51],
    [{ hasFast: false, isInVain: true }, "cut_in_vain", 64],
    [{ hasFast: false, isEngineIdle: true }, "no_engine_queue", 64],
    [{ hasFast: false, isEngineIdle: true, limit: 8 }, "lowest", 8],
    [{ isUnconfirmed: true, isEngineIdle: true }, "limit_reached", 65],
    [{ isUnconfirmed: true }, "unconfirmed_baseline", 32],
    [{ isUnconfirmed: true, limit: 9 }, "unconfirmed_baseline", 8],
    [{ isUnconfirmed: true, limit: 8 }, "limit_reached", 9],
    [{ isUnconfirmed: true, isHalfFull: false }, "limit_reached", 65],
    [{ isReached: false }, "limit_not_reached", 64],
    [{ isCacheFull: true }, "cache_full", 64],
    [{ limit: 8_192 }, "highest", 8_192],
    [{ limit: 8_191 }, "limit_reached", 8_192],
    [{}, "limit_reached", 65],
  ];
  for (const [partial, cause, limit] of rows) {
    const facts = { ...GOOD, ...partial };
    const message = JSON.stringify(partial);
    assertEquals(capacityRule.judge(facts), cause, message);
    const after = capacityRule.limitAfter(cause, facts.limit, facts.limit);
    assertEquals(after, limit, message);
  }
});

test("limitQueueing() leaves an engine a little room, within bounds", () => {
  const rows: [running: number, limit: number][] = [
    [0, 8],
    [4, 8],
    [5, 9],
    [32, 36],
    [100, 112],
    [9_000, 8_192],
    [Infinity, 8_192],
  ];
  for (const [running, limit] of rows) {
    assertEquals(capacityRule.limitQueueing(running), limit, `${running}`);
  }
});

test("no decision leaves the bounds, or does other than its cause says", () => {
  const { min, max } = LEARNED_LIMIT;
  const facts = fc.record({
    limit: fc.integer({ min, max }),
    hasFast: fc.boolean(),
    isReached: fc.boolean(),
    isLoaded: fc.boolean(),
    isHalfFull: fc.boolean(),
    isUnconfirmed: fc.boolean(),
    isInVain: fc.boolean(),
    isEngineIdle: fc.boolean(),
    isCacheFull: fc.boolean(),
  });
  fc.assert(fc.property(facts, fc.nat(2 * max), (facts, inFlight) => {
    const cause = capacityRule.judge(facts);
    const next = capacityRule.limitAfter(cause, facts.limit, inFlight);
    assert(next >= min && next <= max && Number.isInteger(next));
    const change = CAPACITY_CHANGES[cause];
    if (change === "raised") assertEquals(next, facts.limit + 1);
    else if (change === "held") assertEquals(next, facts.limit);
    else assert(next < facts.limit);
  }));
});
