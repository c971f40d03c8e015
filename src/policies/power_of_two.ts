/**
 * Power of two choices: of two endpoints drawn at random, the less loaded one.
 *
 * Nearly as even as looking at all endpoints, and many gateways that do it at
 * once do not all pick the same idle endpoint (Mitzenmacher, 2001).
 *
 * Invariant: each rank is a new draw of two from those not yielded yet.
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
import { loadOf, Remaining } from "./remaining.ts";

/** Registers the policy. */
export const powerOfTwo: RoutingPolicyPlugin = {
  name: "power_of_two",
  summary: "the less loaded of two endpoints drawn at random",
  keyed: false,
  create(deps: PolicyDeps): RoutingPolicy {
    return {
      rank: (_facts, candidates) => rankByPowerOfTwo(deps.random, candidates),
    };
  },
};

/** Ranks `candidates` by power of two choices. */
export function rankByPowerOfTwo(
  random: () => number,
  candidates: Candidates,
): Ranking {
  const remaining = new Remaining(candidates.count);
  return {
    next(): number {
      const count = remaining.count;
      if (count === 0) return -1;
      if (count === 1) return remaining.take(0);
      const one = Math.floor(random() * count);
      const draw = Math.floor(random() * (count - 1));
      const other = draw < one ? draw : draw + 1;
      const isOtherBetter = loadOf(candidates, remaining.at(other)) <
        loadOf(candidates, remaining.at(one));
      return remaining.take(isOtherBetter ? other : one);
    },
  };
}
