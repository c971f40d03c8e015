/**
 * The memory of a plan: whatever history made a plan, one that is built anew
 * from its memory keeps bindings under the same seeds.
 *
 * @module
 */
import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { formerPlanOf, memoryOf, modelsByEndpoint } from "./plan_memory.ts";
import {
  buildPools,
  type FormerPlan,
  type PlannedEndpoint,
  type PoolPlan,
} from "./pool_plan.ts";

/** Models by id; `undefined` for a list that nobody can read. */
type Lists = ReadonlyMap<string, readonly string[] | undefined>;

function build(lists: Lists, previous?: FormerPlan): PoolPlan {
  const endpoints: PlannedEndpoint[] = [...lists].map(
    ([id, models], slot) => ({ id, models, slot, generation: 1, weight: 1 }),
  );
  return buildPools(endpoints, previous);
}

/** The plan after a restart: lists and former plan from a stored memory. */
function restarted(plan: PoolPlan): PoolPlan {
  const memory = JSON.parse(JSON.stringify(memoryOf(plan)));
  return build(modelsByEndpoint(memory), formerPlanOf(memory));
}

/** Name and seed of each pool, by its endpoints. */
function identities(plan: PoolPlan): Map<string, string> {
  return new Map(
    plan.pools.map(({ ids, name, seed }) => [ids.join(), `${name} ${seed}`]),
  );
}

/** What each model is kept under; the empty name is no model at all. */
function seeds(plan: PoolPlan): Map<string, number | undefined> {
  return new Map<string, number | undefined>([
    ["", plan.pools[plan.whole]?.seed],
    ...[...plan.models].map(([model, pool]) =>
      [model, plan.pools[pool]?.seed] as const
    ),
  ]);
}

const UNREAD: Lists = new Map([["a", undefined], ["b", undefined]]);

/** Two engines with a model each, asked in one order or the other. */
function asked(order: readonly string[]): PoolPlan {
  const lists = new Map(UNREAD);
  let plan = build(lists);
  for (const id of order) {
    lists.set(id, [`model of ${id}`]);
    plan = build(lists, plan);
  }
  return plan;
}

test("seeds depend on who was asked first, which is why they are remembered", () => {
  const [one, other] = [asked(["a", "b"]), asked(["b", "a"])];
  assertNotEquals(seeds(one), seeds(other));
  assertEquals(seeds(restarted(one)), seeds(one));
  assertEquals(seeds(restarted(other)), seeds(other));
});

test("a memory keeps what each endpoint lists", () => {
  const cases: Lists[] = [
    new Map(),
    new Map([["a", undefined]]),
    new Map([["a", []]]),
    new Map([["a", ["m"]], ["b", undefined]]),
    new Map([["a", ["m", "n"]], ["b", ["n"]], ["c", []]]),
    new Map([["a", ["__proto__"]], ["b", ["constructor"]]]),
  ];
  for (const lists of cases) {
    const found = modelsByEndpoint(memoryOf(build(lists)));
    const sorted = new Map<string, readonly string[] | undefined>();
    for (const [id, models] of found) sorted.set(id, models?.toSorted());
    assertEquals(sorted, lists);
  }
});

test("an endpoint that is not configured any more only leaves its pools", () => {
  const before = build(
    new Map([["a", ["m"]], ["b", ["m"]], ["c", ["n"]]]),
  );
  const memory = memoryOf(before);
  const lists = modelsByEndpoint(memory);
  lists.delete("b");
  const after = build(lists, formerPlanOf(memory));
  assertEquals(seeds(after), seeds(before));
});

test("pools keep name and seed over a restart, whatever came before", () => {
  const models = fc.option(
    fc.uniqueArray(fc.constantFrom("m", "n", "o", "*", "m#2", "unlisted"), {
      maxLength: 4,
    }),
    { nil: undefined },
  );
  const lists = fc.uniqueArray(
    fc.tuple(fc.constantFrom("a", "b", "c", "d"), models),
    { selector: ([id]) => id, maxLength: 4 },
  );
  fc.assert(fc.property(
    fc.array(lists, { minLength: 1, maxLength: 6 }),
    (history) => {
      let plan: PoolPlan | undefined;
      for (const step of history) plan = build(new Map(step), plan);
      if (plan === undefined) return;
      const again = restarted(plan);
      assertEquals(identities(again), identities(plan));
      assertEquals(seeds(again), seeds(plan));
    },
  ));
});
