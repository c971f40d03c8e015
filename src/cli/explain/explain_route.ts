/**
 * Where a request would go: the pool of all endpoints, and their order.
 *
 * Nobody is asked, so nothing is known of which models an endpoint lists and
 * whether it is well: all count as ready, idle and serving every model.
 *
 * Invariant: the order is that of the configured policy itself; a score is
 * only shown beside it.
 *
 * @module
 */
import type { Config } from "../../config/config.ts";
import { EndpointSlots } from "../../core/endpoints/endpoint_slots.ts";
import { EndpointTable } from "../../core/endpoints/endpoint_table.ts";
import { finalize32, type KeyHash } from "../../core/hash.ts";
import { Register } from "../../core/plugin.ts";
import { type Pool, Pools } from "../../core/placement/pool.ts";
import { buildPools } from "../../core/placement/pool_plan.ts";
import type { Candidates } from "../../core/routing_policy.ts";
import * as policies from "../../policies/mod.ts";

/** An endpoint and its place in the order. */
export interface RankedEndpoint {
  readonly id: string;
  /** Share of sessions that go there; 0 to 1. */
  readonly share: number;
  /** By which rendezvous orders; `undefined` for other policies. */
  readonly score: number | undefined;
}

/** Where a request would go. */
export interface Route {
  readonly pool: string;
  readonly policy: string;
  /** Whether the order depends on the session key. */
  readonly isKeyed: boolean;
  /** The first choice first. */
  readonly ranking: readonly RankedEndpoint[];
}

/** The policy whose scores are known. */
const SCORED = "rendezvous";

/** Folds and draws, as `core/placement/rendezvous.ts` has them. */
const LANE_FOLD = 0x9e3779b1;
const DRAWS = 0x100000000;

/**
 * Works out the order.
 *
 * @param key Hash of the session key, `undefined` for a request without one.
 * @param random For policies that draw.
 */
export function routeOf(
  config: Pick<Config, "endpoints" | "routing" | "session">,
  key: KeyHash | undefined,
  random: () => number,
): Route {
  const pool = wholePool(config.endpoints);
  const name = key === undefined
    ? config.session.fallback
    : config.routing.policy;
  const plugin = new Register("routing policy", policies).get(name);
  const isKeyed = plugin.keyed && key !== undefined;
  const weights = pool.weights.reduce((sum, weight) => sum + weight, 0);
  const ranking: RankedEndpoint[] = [];
  if (pool.count > 0) {
    const order = plugin.create({ random }).rank({ key }, pool);
    for (let index = order.next(); index >= 0; index = order.next()) {
      ranking.push({
        id: pool.ids[index] ?? "",
        share: (pool.weights[index] ?? 1) / weights,
        score: isKeyed && name === SCORED
          ? rendezvousScore(key, pool, index)
          : undefined,
      });
    }
  }
  return { pool: pool.name, policy: name, isKeyed, ranking };
}

/**
 * The score of one endpoint, -w / ln u (Schindelhauer and Schomaker, 2005);
 * the highest goes first.
 */
export function rendezvousScore(
  { a, b }: KeyHash,
  { hashes, weights }: Pick<Candidates, "hashes" | "weights">,
  index: number,
): number {
  const draw = finalize32(
    (a ^ (hashes[2 * index] ?? 0)) +
      Math.imul(b ^ (hashes[2 * index + 1] ?? 0), LANE_FOLD),
  ) >>> 0;
  return (weights[index] ?? 1) / -Math.log((draw + 0.5) / DRAWS);
}

/** The pool of all endpoints, each of them ready. */
function wholePool(endpoints: Config["endpoints"]): Pool {
  const table = new EndpointTable();
  const slots = new EndpointSlots(table).assign(endpoints.map(({ id }) => id));
  const plan = buildPools(endpoints.flatMap(({ id, weight }) => {
    const assigned = slots.get(id);
    if (assigned === undefined) return [];
    table.setState(assigned.slot, "ready");
    return [{ id, weight, models: undefined, ...assigned }];
  }));
  return new Pools(plan, table).whole;
}
