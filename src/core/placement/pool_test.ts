/**
 * Pools: which endpoints form one, what it is called, and who keeps bindings.
 *
 * Invariant: every plan is passed through `structuredClone` before it is used,
 * as it is on its way to a worker.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { keyOf } from "../../../tests/placement_world.ts";
import { packBinding } from "../sessions/binding.ts";
import { EndpointTable } from "../endpoints/endpoint_table.ts";
import { type Pool, Pools } from "./pool.ts";
import {
  buildPools,
  type PlannedEndpoint,
  type PoolPlan,
} from "./pool_plan.ts";

/** Models of each endpoint by id; `undefined` for a list nobody can read. */
type Lists = Readonly<Record<string, readonly string[] | undefined>>;

function planOf(lists: Lists, previous?: PoolPlan): PoolPlan {
  const endpoints: PlannedEndpoint[] = Object.entries(lists).map(
    ([id, models], slot) => ({ id, models, slot, generation: 1, weight: 1 }),
  );
  return structuredClone(buildPools(endpoints, previous));
}

function poolsOf(lists: Lists, previous?: PoolPlan): Pools {
  return new Pools(planOf(lists, previous), new EndpointTable());
}

test("poolFor() finds the endpoints that serve a model", () => {
  const cases: [lists: Lists, model: string | undefined, ids: string][] = [
    [{}, undefined, ""],
    [{}, "m", "no pool"],
    [{ a: [] }, undefined, "a"],
    [{ a: [] }, "m", "no pool"],
    [{ a: ["m"], b: ["n"] }, undefined, "a,b"],
    [{ a: ["m"], b: ["n"] }, "m", "a"],
    [{ a: ["m"], b: ["n"] }, "M", "no pool"],
    [{ a: ["m", "m"], b: ["m"] }, "m", "a,b"],
    [{ a: ["m"], b: undefined }, "m", "a,b"],
    [{ a: ["m"], b: undefined }, "unknown", "b"],
    [{ a: undefined, b: undefined }, "unknown", "a,b"],
    [{ a: ["__proto__"], b: ["n"] }, "__proto__", "a"],
    [{ a: ["m"], b: ["n"] }, "constructor", "no pool"],
    [{ a: Array(4_096).fill("m"), b: ["n"] }, "n", "b"],
    [{ a: Array(4_097).fill("m"), b: ["n"] }, "n", "a,b"],
  ];
  for (const [lists, model, ids] of cases) {
    const pool = poolsOf(lists).poolFor(model);
    assertEquals(pool?.ids.join() ?? "no pool", ids, `${model}`);
  }
});

test("models that the same endpoints serve share one pool", () => {
  const pools = poolsOf({ a: ["m", "n"], b: ["n", "m"], c: ["o"] });
  assertEquals(pools.poolFor("m"), pools.poolFor("n"));
  assertEquals(pools.all.length, 3);
  assertEquals(pools.whole.ids, ["a", "b", "c"]);
});

test("names are unique, and the pool of all endpoints has seed 0", () => {
  const plan = planOf({ a: ["m", "*"], b: ["n", "*"], c: undefined });
  const names = plan.pools.map(({ name }) => name);
  assertEquals(new Set(names).size, names.length);
  const whole = plan.pools[plan.whole];
  assertEquals([whole?.name, whole?.seed], ["*", 0]);
  for (const pool of plan.pools) {
    assertEquals(pool.seed === 0, pool === whole);
  }
});

/** The seed of the pool of a model. */
function seedOf(plan: PoolPlan, model: string): number | undefined {
  return plan.pools[plan.models.get(model) ?? -1]?.seed;
}

test("A2: a pool keeps its bindings when endpoints come, go and load models", () => {
  const steps: Lists[] = [
    { a: ["m"], b: ["m"], x: ["n"] },
    { a: ["m"], b: ["m"], c: ["m"], x: ["n"] },
    { a: ["m", "a-first"], b: ["m"], c: ["m"], x: ["n"] },
    { a: ["m", "a-first"], b: ["m", "a-first"], x: ["n"] },
    { b: ["m", "a-first"], x: ["n"] },
  ];
  let plan = planOf(steps[0] ?? {});
  const [m, n] = [seedOf(plan, "m"), seedOf(plan, "n")];
  assertNotEquals(m, n);
  for (const lists of steps) {
    plan = planOf(lists, plan);
    assertEquals([seedOf(plan, "m"), seedOf(plan, "n")], [m, n]);
    assertEquals(plan.pools[plan.models.get("m") ?? -1]?.name, "m");
  }
});

test("bindings survive that a pool stops and starts being all endpoints", () => {
  const alone = planOf({ a: ["m"], b: ["m"] });
  assertEquals(seedOf(alone, "m"), 0);
  const joined = planOf({ a: ["m"], b: ["m"], c: ["n"] }, alone);
  assertEquals(seedOf(joined, "m"), 0);
  assertNotEquals(seedOf(joined, "n"), 0);
  const again = planOf({ a: ["m"], b: ["m"] }, joined);
  assertEquals(seedOf(again, "m"), 0);
});

test("two pools that come of one do not share its bindings", () => {
  const one = planOf({ a: ["m", "n"], b: ["m", "n"] });
  const two = planOf({ a: ["m"], b: ["n"] }, one);
  assertNotEquals(seedOf(two, "m"), seedOf(two, "n"));
});

test("scope() keeps the bindings of disjoint pools apart", () => {
  const pools = poolsOf({ a: ["m"], b: ["n"] });
  const key = keyOf("session");
  const scoped = ["m", "n", undefined].map((model) =>
    pools.poolFor(model)?.scope(key)
  );
  assertEquals(scoped[2], key);
  assertEquals(new Set(scoped.map((hash) => hash?.a)).size, 3);
  assertEquals(new Set(scoped.map((hash) => hash?.b)).size, 3);
});

test("indexOf() knows a binding by slot and generation", () => {
  const pool = poolsOf({ a: ["m"], b: ["m"] }).whole;
  const cases: [word: number, index: number][] = [
    [0, -1],
    [packBinding(1, 0), -1],
    [packBinding(1, 1), 1],
    [packBinding(1, 2), -1],
    [packBinding(2, 1), -1],
    [packBinding(255, 0xffff), -1],
  ];
  for (const [word, index] of cases) assertEquals(pool.indexOf(word), index);
  assertEquals(pool.indexOf(pool.bindingOf(0)), 0);
});

test("an endpoint whose slot was given away is not eligible", () => {
  const table = new EndpointTable();
  const generation = table.renew(0);
  table.setState(0, "ready");
  const planned = { id: "a", models: [], slot: 0, generation, weight: 1 };
  const pool = new Pools(buildPools([planned]), table).whole;
  assertEquals(pool.isEligible(0), true);
  table.renew(0);
  assertEquals(pool.isEligible(0), false);
});

test("isOverloaded() holds an endpoint to its share, above a floor of 8", () => {
  const cases: [counts: number[], weights: number[], isOver: boolean][] = [
    [[7, 0], [1, 1], false],
    [[8, 0], [1, 1], true],
    [[8, 8], [1, 1], false],
    [[11, 8], [1, 1], false],
    [[13, 8], [1, 1], true],
    [[30, 10], [3, 1], false],
    [[90, 8], [3, 1], false],
    [[100, 5], [3, 1], true],
    [[100], [1], false],
  ];
  for (const [counts, weights, isOver] of cases) {
    const table = new EndpointTable();
    const planned = counts.map((count, slot) => {
      table.setState(slot, "ready");
      for (let i = 0; i < count; i++) table.tryReserve(slot);
      const weight = weights[slot] ?? 1;
      return { id: `e${slot}`, models: [], slot, generation: 0, weight };
    });
    const pool: Pool = new Pools(buildPools(planned), table).whole;
    assertEquals(pool.isOverloaded(0, 1.25), isOver, `${counts}`);
  }
});

test("whatever lists come, pools are exactly the distinct sets of endpoints", () => {
  const list = fc.option(
    fc.uniqueArray(fc.constantFrom<string>("m", "n", "o", "p")),
    {
      nil: undefined,
    },
  );
  const lists = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), list);
  fc.assert(fc.property(lists, lists, (former, current) => {
    const pools = poolsOf(current, planOf(former));
    const sets = pools.all.map((pool) => pool.ids.join());
    assertEquals(new Set(sets).size, sets.length);
    assertEquals(
      new Set(pools.all.map(({ name }) => name)).size,
      pools.all.length,
    );
    for (const model of ["m", "n", "o", "p"]) {
      const listed = Object.values(current).some((one) => one?.includes(model));
      const serving = Object.entries(current)
        .filter(([, models]) => models?.includes(model) ?? true)
        .map(([id]) => id);
      const found = pools.poolFor(model)?.ids;
      assertEquals(found ?? [], serving);
      assert(found !== undefined || !listed);
    }
  }));
});

test("buildPools() gives no two pools the same bindings to keep", () => {
  const alone = planOf({ a: undefined, b: undefined });
  const first = planOf({ a: ["m"], b: undefined }, alone);
  const split = planOf({ a: ["m"], b: ["n"] }, first);
  const again = planOf({ a: ["m"], b: ["n"] }, split);
  const seedOf = (plan: PoolPlan, at: number) => plan.pools[at]?.seed;
  const whole = seedOf(split, split.whole);
  const ofM = seedOf(split, split.models.get("m") ?? -1);
  assertNotEquals(whole, ofM, "the pool of all and that of its first model");
  assertEquals(seedOf(again, again.whole), whole, "kept when nothing changes");
  assertEquals(seedOf(again, again.models.get("m") ?? -1), ofM);
});

test("buildPools() keeps the seeds of pools apart through any changes", () => {
  const models = fc.option(
    fc.subarray(["k", "l", "m", "n"]),
    { nil: undefined },
  );
  const lists = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), models);
  fc.assert(fc.property(fc.array(lists, { maxLength: 8 }), (steps) => {
    let plan: PoolPlan | undefined;
    for (const step of steps) {
      plan = planOf(step, plan);
      const seeds = plan.pools.map(({ seed }) => seed);
      assertEquals(new Set(seeds).size, seeds.length, JSON.stringify(step));
    }
  }));
});
