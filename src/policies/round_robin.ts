/**
 * Round robin: endpoints in turn, smoothly by weight.
 *
 * Every endpoint earns its weight each round, the richest takes the request
 * and pays all weights. Each pool has purses of its own: one counter over all
 * would starve endpoints when the models of requests alternate. The ranks
 * after the first are random, since a fixed next would inherit every turn of
 * an endpoint that is out.
 *
 * Purses start at random, so that the threads of a gateway do not start
 * their rounds at the same endpoint.
 *
 * Invariant: over a run of rounds as long as the sum of whole weights, each
 * endpoint is first as often as its weight says, give or take one.
 *
 * @module
 */
import type {
  Candidates,
  PolicyDeps,
  RoutingPolicy,
  RoutingPolicyPlugin,
} from "../core/routing_policy.ts";
import { rankAtRandom } from "./random.ts";

/** Registers the policy. */
export const roundRobin: RoutingPolicyPlugin = {
  name: "round_robin",
  summary: "endpoints in turn, as often as their weights say",
  keyed: false,
  create(deps: PolicyDeps): RoutingPolicy {
    // Weak: the purses of a pool go with it when pools are rebuilt.
    const purses = new WeakMap<Float64Array, Float64Array>();
    return {
      rank(_facts, candidates) {
        // The weights of a pool are one array for as long as it lives.
        let purse = purses.get(candidates.weights);
        if (purse === undefined) {
          purse = candidates.weights.map((weight) => weight * deps.random());
          purses.set(candidates.weights, purse);
        }
        const first = takeTurn(purse, candidates);
        const others = rankAtRandom(deps.random, candidates);
        let isFirst = true;
        return {
          next(): number {
            if (isFirst) {
              isFirst = false;
              return first;
            }
            const index = others.next();
            return index === first ? others.next() : index;
          },
        };
      },
    };
  },
};

/** Plays one round and returns the endpoint whose turn it is. */
function takeTurn(purse: Float64Array, candidates: Candidates): number {
  let richest = 0;
  let total = 0;
  for (let index = 0; index < candidates.count; index++) {
    const weight = candidates.weights[index] ?? 1;
    total += weight;
    purse[index] = (purse[index] ?? 0) + weight;
    if ((purse[index] ?? 0) > (purse[richest] ?? 0)) richest = index;
  }
  purse[richest] = (purse[richest] ?? 0) - total;
  return richest;
}
