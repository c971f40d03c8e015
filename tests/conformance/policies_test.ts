/**
 * What every routing policy of the register must keep.
 *
 * Invariant: a policy is tested by being exported from `src/policies/mod.ts`,
 * without a line here.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { hashBytes } from "../../src/core/hash.ts";
import { Register } from "../../src/core/plugin.ts";
import type {
  Candidates,
  Ranking,
  RoutingPolicyPlugin,
} from "../../src/core/routing_policy.ts";
import * as policies from "../../src/policies/mod.ts";
import { test } from "../leakproof.ts";
import { keyOf, seededRandom } from "../placement_world.ts";

const REGISTER = new Register<RoutingPolicyPlugin>("routing policy", policies);

/** The policies whose first rank follows weights when nothing is in flight. */
const LOAD_BLIND = new Set(["random", "rendezvous", "round_robin"]);

/** Candidates with given loads and weights. */
function candidatesOf(
  loads: readonly number[],
  weights: readonly number[] = [],
): Candidates {
  const count = loads.length;
  return {
    count,
    hashes: Int32Array.from(loads.keys(), (index) => index).reduce(
      (words, index) => {
        const bytes = new TextEncoder().encode(`http://127.0.0.1:${index}`);
        const { a, b } = hashBytes(bytes);
        words.set([a, b], 2 * index);
        return words;
      },
      new Int32Array(2 * count),
    ),
    weights: Float64Array.from(loads, (_, index) => weights[index] ?? 1),
    inFlight: (index) => loads[index] ?? 0,
  };
}

/** All ranks, and two calls beyond the end. */
function drain(ranking: Ranking, count: number): number[] {
  return Array.from({ length: count + 2 }, () => ranking.next());
}

const pool = fc.array(
  fc.record({
    load: fc.nat(50),
    weight: fc.double({ min: 0.01, max: 100, noNaN: true }),
  }),
  { minLength: 1, maxLength: 40 },
);

test("the register has the policies that the configuration documents", () => {
  assertEquals(REGISTER.names(), [
    "least_in_flight",
    "power_of_two",
    "random",
    "rendezvous",
    "round_robin",
  ]);
});

for (const plugin of REGISTER.all()) {
  const name = plugin.name;

  test(`${name} has a name and a summary fit to print`, () => {
    assertMatch(name, /^[a-z][a-z_]*[a-z]$/);
    assertMatch(plugin.summary, /^[^\n]{10,80}[^.\n]$/);
  });

  test(`${name} yields every endpoint exactly once, then -1`, () => {
    fc.assert(fc.property(pool, fc.boolean(), fc.nat(), (list, keyed, seed) => {
      const policy = plugin.create({ random: seededRandom(seed) });
      const candidates = candidatesOf(
        list.map(({ load }) => load),
        list.map(({ weight }) => weight),
      );
      const key = keyed ? keyOf(`${seed}`) : undefined;
      for (let round = 0; round < 3; round++) {
        const ranks = drain(policy.rank({ key }, candidates), list.length);
        assertEquals(ranks.splice(-2), [-1, -1]);
        assertEquals(ranks.sort((x, y) => x - y), [...list.keys()]);
      }
    }));
  });

  test(`${name} changes nothing of what it is given`, () => {
    fc.assert(fc.property(pool, fc.nat(), (list, seed) => {
      const policy = plugin.create({ random: seededRandom(seed) });
      const candidates = Object.freeze(candidatesOf(
        list.map(({ load }) => load),
        list.map(({ weight }) => weight),
      ));
      const before = structuredClone([candidates.hashes, candidates.weights]);
      const facts = Object.freeze({ key: keyOf(`${seed}`) });
      drain(policy.rank(facts, candidates), list.length);
      assertEquals([candidates.hashes, candidates.weights], before);
    }));
  });

  test(`${name} is the same for the same random numbers`, () => {
    fc.assert(fc.property(pool, fc.nat(), (list, seed) => {
      const candidates = candidatesOf(list.map(({ load }) => load));
      const run = () => {
        const policy = plugin.create({ random: seededRandom(seed) });
        return Array.from(
          { length: 5 },
          (_, i) =>
            drain(
              policy.rank({ key: keyOf(`${i}`) }, candidates),
              list.length,
            ),
        );
      };
      assertEquals(run(), run());
    }));
  });

  test(`${name} works at the ends of the random numbers`, () => {
    for (const value of [0, 0.5, 1 - 2 ** -53]) {
      const policy = plugin.create({ random: () => value });
      for (const count of [1, 2, 3, 256]) {
        const candidates = candidatesOf(new Array(count).fill(0));
        for (const key of [undefined, keyOf("k")]) {
          const ranks = drain(policy.rank({ key }, candidates), count);
          assertEquals(new Set(ranks).size, count + 1);
        }
      }
    }
  });

  test(`${name} is ${plugin.keyed ? "" : "not "}true to the key`, () => {
    const policy = plugin.create({ random: seededRandom(7) });
    const candidates = candidatesOf(new Array(16).fill(0));
    const first = () =>
      policy.rank({ key: keyOf("one session") }, candidates).next();
    const seen = new Set(Array.from({ length: 64 }, first));
    assertEquals(seen.size === 1, plugin.keyed);
  });

  test(`${name} spreads requests without a key evenly`, () => {
    const policy = plugin.create({ random: seededRandom(7) });
    const loads = new Array(8).fill(0);
    const candidates = candidatesOf(loads);
    for (let i = 0; i < 8_000; i++) {
      loads[policy.rank({ key: undefined }, candidates).next()]++;
    }
    for (const load of loads) assert(Math.abs(load - 1_000) <= 150, `${load}`);
  });

  test(`${name} honors weights`, () => {
    const policy = plugin.create({ random: seededRandom(7) });
    const weights = [1, 2, 5];
    const counts = [0, 0, 0];
    const loads = LOAD_BLIND.has(name) ? [0, 0, 0] : counts;
    const candidates = candidatesOf(loads, weights);
    for (let i = 0; i < 8_000; i++) {
      const key = keyOf(`session-${i}`);
      const first = policy.rank({ key }, candidates).next();
      counts[first] = (counts[first] ?? 0) + 1;
    }
    counts.forEach((count, index) => {
      const expected = 1_000 * (weights[index] ?? 1);
      assert(Math.abs(count - expected) <= expected / 10, `${counts}`);
    });
  });
}
