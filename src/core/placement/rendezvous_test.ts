/**
 * Rendezvous order: frozen vectors, and how evenly it spreads.
 *
 * Invariant: the vectors below never change; gateways of different versions
 * must agree.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { keyOf } from "../../../tests/placement_world.ts";
import type { KeyHash } from "../hash.ts";
import { rankByRendezvous } from "./rendezvous.ts";
import type { Candidates } from "../routing_policy.ts";

/** Candidates by id, with nothing in flight. */
function candidatesOf(
  ids: readonly string[],
  weights: readonly number[] = [],
): Candidates {
  return {
    count: ids.length,
    hashes: Int32Array.from(ids.flatMap((id) => {
      const { a, b } = keyOf(id);
      return [a, b];
    })),
    weights: Float64Array.from(ids, (_, index) => weights[index] ?? 1),
    inFlight: () => 0,
  };
}

function order(key: KeyHash, candidates: Candidates): number[] {
  const ranking = rankByRendezvous(key, candidates);
  return Array.from({ length: candidates.count }, () => ranking.next());
}

/** The usual one-host layout: ids that differ in their last digit only. */
function ports(count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => `http://127.0.0.1:${8000 + index}`,
  );
}

/** How many of `total` sessions each endpoint is first for. */
function firsts(candidates: Candidates, total: number): number[] {
  const counts = new Array(candidates.count).fill(0);
  for (let i = 0; i < total; i++) {
    counts[rankByRendezvous(keyOf(`session-${i}`), candidates).next()]++;
  }
  return counts;
}

test("golden vectors: words in, order out", () => {
  const hashes = [1, 2, -3, 4, 0x7fffffff, -0x80000000, 0, 0, 5, -6];
  const candidates = (weights: number[]): Candidates => ({
    count: 5,
    hashes: Int32Array.from(hashes),
    weights: Float64Array.from(weights),
    inFlight: () => 0,
  });
  const equal = candidates([1, 1, 1, 1, 1]);
  const unequal = candidates([1, 2, 0.5, 3, 8]);
  const cases: [key: KeyHash, equal: number[], unequal: number[]][] = [
    [{ a: 0, b: 0 }, [1, 2, 4, 0, 3], [1, 4, 2, 0, 3]],
    [{ a: 1, b: 2 }, [4, 2, 1, 3, 0], [4, 1, 3, 2, 0]],
    [{ a: -1, b: -1 }, [4, 0, 1, 3, 2], [4, 3, 1, 0, 2]],
    [{ a: 0x12345678, b: 0x0badcafe }, [0, 2, 1, 4, 3], [4, 1, 0, 3, 2]],
  ];
  for (const [key, byEqual, byUnequal] of cases) {
    assertEquals(order(key, equal), byEqual);
    assertEquals(order(key, unequal), byUnequal);
  }
});

test("no candidates give no rank", () => {
  assertEquals(rankByRendezvous({ a: 1, b: 1 }, candidatesOf([])).next(), -1);
});

test("the end of a ranking is its end for good", () => {
  const ranking = rankByRendezvous({ a: 1, b: 1 }, candidatesOf(["x", "y"]));
  const ranks = [ranking.next(), ranking.next()].sort();
  assertEquals(ranks, [0, 1]);
  assertEquals([ranking.next(), ranking.next()], [-1, -1]);
});

test("equal endpoints, as two slots of one id, go by index", () => {
  const twins = candidatesOf(["same", "same", "same"]);
  assertEquals(order(keyOf("key"), twins), [0, 1, 2]);
  const weighted = candidatesOf(["same", "same", "same"], [2, 2, 1]);
  assertEquals(order(keyOf("key"), weighted), [0, 1, 2]);
});

test("equal weights other than 1 rank as weights of 1 do", () => {
  const ids = ports(8);
  for (let i = 0; i < 500; i++) {
    const key = keyOf(`k${i}`);
    const ones = order(key, candidatesOf(ids));
    assertEquals(order(key, candidatesOf(ids, ids.map(() => 3))), ones);
    // A whisker of difference takes the other path, to the same ranks.
    const nearly = ids.map((_, index) => index === 0 ? 3 + 1e-14 : 3);
    assertEquals(order(key, candidatesOf(ids, nearly)), ones);
  }
});

test("every index comes once, whatever the order of the list", () => {
  const input = fc.record({
    ids: fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 20 }),
    weights: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 20 }),
    key: fc.record({ a: fc.integer(), b: fc.integer() }),
    seed: fc.nat(),
  });
  fc.assert(fc.property(input, ({ ids, weights, key, seed }) => {
    const ranks = order(key, candidatesOf(ids, weights));
    assertEquals([...ranks].sort((x, y) => x - y), [...ids.keys()]);
    const turn = seed % ids.length;
    const turned = [...ids.slice(turn), ...ids.slice(0, turn)].reverse();
    const theirs = turned.map((id) => weights[ids.indexOf(id)] ?? 1);
    assertEquals(
      order(key, candidatesOf(turned, theirs)).map((index) => turned[index]),
      ranks.map((index) => ids[index]),
    );
  }));
});

test("10,000 sessions on 8 equal endpoints are within 10 % of even", () => {
  for (const count of firsts(candidatesOf(ports(8)), 10_000)) {
    assert(Math.abs(count - 1_250) <= 125, `${count} of 1250`);
  }
});

test("shares of sessions follow weights", () => {
  const weights = [1, 2, 4, 1];
  const counts = firsts(candidatesOf(ports(4), weights), 16_000);
  counts.forEach((count, index) => {
    const expected = 2_000 * (weights[index] ?? 1);
    assert(
      Math.abs(count - expected) <= expected / 10,
      `${count} of ${expected}`,
    );
  });
});

test("AB session hash, A12: a lost neighbor's sessions spread over all others within 25 %", () => {
  const ids = ports(8);
  const candidates = candidatesOf(ids);
  for (let lost = 0; lost < ids.length; lost++) {
    const heirs = new Array(ids.length).fill(0);
    let orphans = 0;
    for (let i = 0; i < 24_000; i++) {
      const ranking = rankByRendezvous(keyOf(`session-${i}`), candidates);
      if (ranking.next() !== lost) continue;
      heirs[ranking.next()]++;
      orphans++;
    }
    heirs.forEach((count, index) => {
      if (index === lost) return assertEquals(count, 0);
      const expected = orphans / 7;
      assert(
        Math.abs(count - expected) <= expected / 4,
        `${ids[lost]} to ${ids[index]}: ${count} of ${expected}`,
      );
    });
  }
});

test("PS #8, AB #2742, A1: a fifth endpoint takes a fifth, and only for itself", () => {
  const four = candidatesOf(ports(4));
  const five = candidatesOf(ports(5));
  let moved = 0;
  for (let i = 0; i < 10_000; i++) {
    const key = keyOf(`session-${i}`);
    const before = rankByRendezvous(key, four).next();
    const after = rankByRendezvous(key, five).next();
    if (before === after) continue;
    assertEquals(after, 4);
    moved++;
  }
  assert(moved > 1_800 && moved < 2_200, `${moved} of 10000 moved`);
});

test("taking an endpoint away leaves the order of the others", () => {
  const ids = ports(6);
  for (let i = 0; i < 200; i++) {
    const key = keyOf(`session-${i}`);
    const weights = [1, 2, 3, 1, 2, 3];
    const all = order(key, candidatesOf(ids, weights));
    const fewer = order(
      key,
      candidatesOf(ids.slice(0, 5), weights.slice(0, 5)),
    );
    assertEquals(all.filter((index) => index !== 5), fewer);
  }
});
