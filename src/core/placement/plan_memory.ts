/**
 * What a plan of pools must hand on over a restart: which endpoints served
 * which models, and under which name and seed their pools kept bindings.
 *
 * A pool's seed depends on the history of the plan: it is inherited from pool
 * to pool, and where pools come from one another the order in which endpoints
 * were asked for their models decides who inherits. Bindings are kept under
 * the seed, so a restart without this memory would lose those of whole pools.
 *
 * Invariant: a plan that is built from the endpoints of a memory, with the
 * models and the former plan that it gives, has the same pools, names and
 * seeds as the plan that was remembered.
 *
 * @module
 */
import type { FormerPlan, PoolPlan } from "./pool_plan.ts";

/** One pool, as plain data of bounded size. */
export interface PoolMemory {
  readonly name: string;
  readonly seed: number;
  /** Its endpoints, as ascending indexes into those of the memory. */
  readonly members: readonly number[];
  /** The models that it serves. */
  readonly models: readonly string[];
}

/** All pools of a gateway. */
export interface PlanMemory {
  /** Ids of all endpoints, in the order of the list. */
  readonly endpoints: readonly string[];
  readonly pools: readonly PoolMemory[];
  /** The pool of all endpoints. */
  readonly whole: number;
  /** The pool of endpoints that serve every model; -1 when there is none. */
  readonly unlisted: number;
}

/** What is worth remembering of a plan. */
export function memoryOf(plan: PoolPlan): PlanMemory {
  const endpoints = plan.pools[plan.whole]?.ids ?? [];
  const indexes = new Map(endpoints.map((id, index) => [id, index]));
  const models: string[][] = plan.pools.map(() => []);
  for (const [model, pool] of plan.models) models[pool]?.push(model);
  return {
    endpoints,
    pools: plan.pools.map(({ name, seed, ids }, index) => ({
      name,
      seed,
      members: ids.flatMap((id) => indexes.get(id) ?? []),
      models: models[index] ?? [],
    })),
    whole: plan.whole,
    unlisted: plan.unlisted,
  };
}

/** The former plan that the first plan after a restart inherits from. */
export function formerPlanOf(memory: PlanMemory): FormerPlan {
  const models = new Map<string, number>();
  memory.pools.forEach((pool, index) =>
    pool.models.forEach((model) => models.set(model, index))
  );
  return {
    pools: memory.pools.map(({ name, seed, members }) => ({
      name,
      seed,
      ids: members.flatMap((member) => memory.endpoints[member] ?? []),
    })),
    models,
    whole: memory.whole,
  };
}

/**
 * The models of each remembered endpoint: those of its pools, or `undefined`
 * for one that counted as serving every model.
 */
export function modelsByEndpoint(
  memory: PlanMemory,
): Map<string, readonly string[] | undefined> {
  const lists = memory.endpoints.map((): string[] => []);
  for (const { members, models } of memory.pools) {
    for (const member of members) {
      const list = lists[member];
      for (const model of models) list?.push(model);
    }
  }
  const unlisted = new Set(memory.pools[memory.unlisted]?.members);
  return new Map(
    memory.endpoints.map((id, index) => [
      id,
      unlisted.has(index) ? undefined : lists[index],
    ]),
  );
}
