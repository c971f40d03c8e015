/**
 * Least in flight: the endpoint with the fewest requests for its weight.
 *
 * Invariant: ties are broken at random. A fixed order would send every
 * request of a quiet gateway to its first endpoint.
 *
 * @module
 */
import type {
  PolicyDeps,
  RoutingPolicy,
  RoutingPolicyPlugin,
} from "../core/routing_policy.ts";
import { loadOf, Remaining } from "./remaining.ts";

/** Registers the policy. */
export const leastInFlight: RoutingPolicyPlugin = {
  name: "least_in_flight",
  summary: "the endpoint with the fewest requests in flight for its weight",
  keyed: false,
  create(deps: PolicyDeps): RoutingPolicy {
    return {
      rank(_facts, candidates) {
        const remaining = new Remaining(candidates.count);
        return {
          next(): number {
            let best = -1;
            let bestLoad = Infinity;
            let ties = 0;
            for (let at = 0; at < remaining.count; at++) {
              const load = loadOf(candidates, remaining.at(at));
              if (load > bestLoad) continue;
              ties = load === bestLoad ? ties + 1 : 1;
              bestLoad = load;
              // The n-th tie wins with chance 1/n, so all win alike.
              if (ties === 1 || deps.random() * ties < 1) best = at;
            }
            return best < 0 ? -1 : remaining.take(best);
          },
        };
      },
    };
  },
};
