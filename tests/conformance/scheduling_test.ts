/**
 * What every scheduling policy of the register must keep.
 *
 * Invariant: a policy is tested by being exported from
 * `src/scheduling/mod.ts`, without a line here.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { Register } from "../../src/core/plugin.ts";
import {
  LEVEL_COUNT,
  type SchedulingFacts,
  type SchedulingPolicyPlugin,
} from "../../src/core/scheduling_policy.ts";
import * as scheduling from "../../src/scheduling/mod.ts";
import { test } from "../leakproof.ts";

const REGISTER = new Register<SchedulingPolicyPlugin>(
  "scheduling policy",
  scheduling,
);

/** The facts that are durations: more of one never makes more urgent. */
const DURATIONS = ["criticalPathMs", "attainedMs", "expectedMs"] as const;

/** Numbers that arithmetic stumbles over. */
const ODD = [
  NaN,
  -Infinity,
  Infinity,
  -1,
  -0,
  0,
  Number.MIN_VALUE,
  0.5,
  1,
  999.999,
  1_000,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32,
  Number.MAX_VALUE,
];

/** Any number at all. */
const anyNumber = fc.oneof(fc.constantFrom(...ODD), fc.double());

/** Facts that no caller should come up with. */
const anyFacts = fc.record({
  criticalPathMs: anyNumber,
  attainedMs: anyNumber,
  servedCount: anyNumber,
  expectedMs: fc.option(anyNumber, { nil: undefined }),
});

/** Durations of calls, up to beyond the last level. */
const duration = fc.oneof(
  fc.double({ min: 0, max: 1e13, noNaN: true }),
  fc.double({ min: 0, max: 10_000, noNaN: true }),
);

/** Facts as a gateway has them; the client says what it expects. */
const facts = fc.record({
  criticalPathMs: duration,
  attainedMs: duration,
  servedCount: fc.nat(1_000),
  expectedMs: duration,
});

/** A first call, of which the client says nothing. */
const UNKNOWN: SchedulingFacts = {
  criticalPathMs: 0,
  attainedMs: 0,
  servedCount: 0,
  expectedMs: undefined,
};

/** Each fact is the value, the rest odd ones by turns. */
function oddFacts(): SchedulingFacts[] {
  return ODD.flatMap((value, at) => {
    const other = ODD[(at + 1) % ODD.length] ?? 0;
    return [
      { criticalPathMs: value, attainedMs: value, servedCount: other },
      { criticalPathMs: value, attainedMs: other, servedCount: value },
      { criticalPathMs: other, attainedMs: value, servedCount: 1 },
    ].flatMap((known) => [
      { ...known, expectedMs: undefined },
      { ...known, expectedMs: value },
    ]);
  });
}

function assertLevel(level: number, about: unknown): void {
  const isLevel = Number.isInteger(level) && level >= 0 && level < LEVEL_COUNT;
  assert(isLevel, `${level} for ${JSON.stringify(about)}`);
}

test("the register has the policies that the configuration documents", () => {
  assertEquals(REGISTER.names(), ["critical_path", "fcfs", "las", "wspt"]);
});

for (const plugin of REGISTER.all()) {
  const name = plugin.name;

  test(`${name} has a name and a summary fit to print`, () => {
    assertMatch(name, /^[a-z][a-z_]*[a-z]$/);
    assertMatch(plugin.summary, /^[^\n]{10,80}[^.\n]$/);
  });

  test(`${name} has a level for everything`, () => {
    const policy = plugin.create();
    for (const odd of oddFacts()) assertLevel(policy.level(odd), odd);
    fc.assert(fc.property(anyFacts, fc.array(anyNumber), (odd, services) => {
      for (const serviceMs of services) policy.served?.(serviceMs);
      assertLevel(policy.level(odd), odd);
    }));
  });

  test(`${name} puts what has taken and will take nothing on level 0`, () => {
    const level = plugin.create().level({ ...UNKNOWN, expectedMs: 0 });
    assertEquals(level, 0);
  });

  test(`${name} decides alike when asked again, and changes nothing`, () => {
    fc.assert(
      fc.property(fc.array(facts), fc.array(duration), (list, services) => {
        const policy = plugin.create();
        const twin = plugin.create();
        for (const serviceMs of services) {
          policy.served?.(serviceMs);
          twin.served?.(serviceMs);
        }
        const levels = list.map((one) => policy.level(Object.freeze(one)));
        const again = [...list].reverse().map((one) => policy.level(one));
        assertEquals(again.reverse(), levels);
        assertEquals(list.map((one) => twin.level(one)), levels);
      }),
    );
  });

  test(`${name} learns nothing from being asked`, () => {
    const policy = plugin.create();
    const before = policy.level(UNKNOWN);
    for (let i = 0; i < 10_000; i++) {
      policy.level({ ...UNKNOWN, attainedMs: 1e6, servedCount: 1 });
      policy.level(UNKNOWN);
    }
    assertEquals(policy.level(UNKNOWN), before);
  });

  test(`${name} never makes more urgent what has taken longer`, () => {
    fc.assert(
      fc.property(
        facts,
        duration,
        fc.constantFrom(...DURATIONS),
        fc.boolean(),
        (less, moreMs, fact, isDeclared) => {
          const policy = plugin.create();
          const expectedMs = isDeclared ? less.expectedMs : undefined;
          const lesser: SchedulingFacts = { ...less, expectedMs };
          const known = lesser[fact];
          // Declaring a duration at all may well make more urgent.
          if (known === undefined) return;
          const greater = { ...lesser, [fact]: known + moreMs };
          assert(policy.level(lesser) <= policy.level(greater), fact);
        },
      ),
    );
  });

  test(`${name} shares nothing between two of its kind`, () => {
    const [one, other] = [plugin.create(), plugin.create()];
    const before = other.level(UNKNOWN);
    for (let i = 0; i < 100; i++) one.served?.(3_600_000);
    assertEquals(other.level(UNKNOWN), before);
  });
}
