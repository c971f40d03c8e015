/**
 * Random: each endpoint with a chance in proportion to its weight.
 *
 * Invariant: a rank is drawn by weight from those not yielded yet.
 *
 * @module
 */
import type {
  Candidates,
  PolicyDeps,
  Ranking,
  RoutingPolicy,
  RoutingPolicyPlugin,
} from "../core/routing_policy.ts";
import { Remaining } from "./remaining.ts";

/** Registers the policy. */
export const random: RoutingPolicyPlugin = {
  name: "random",
  summary: "any endpoint, with a chance in proportion to its weight",
  keyed: false,
  create(deps: PolicyDeps): RoutingPolicy {
    return {
      rank: (_facts, candidates) => rankAtRandom(deps.random, candidates),
    };
  },
};

/** Ranks `candidates` by repeated weighted draws. */
export function rankAtRandom(
  random: () => number,
  candidates: Candidates,
): Ranking {
  const remaining = new Remaining(candidates.count);
  return {
    next(): number {
      let total = 0;
      for (let at = 0; at < remaining.count; at++) {
        total += candidates.weights[remaining.at(at)] ?? 1;
      }
      let mark = random() * total;
      for (let at = 0; at < remaining.count; at++) {
        mark -= candidates.weights[remaining.at(at)] ?? 1;
        // Rounding may leave a crumb after the last, which then is drawn.
        if (mark < 0 || at === remaining.count - 1) return remaining.take(at);
      }
      return -1;
    },
  };
}
