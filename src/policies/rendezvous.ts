/**
 * Rendezvous: the session key decides, and every gateway decides alike.
 *
 * Invariant: a request without a key is never ranked by a hash of nothing,
 * which would send all such requests to one endpoint; it goes by load.
 *
 * @module
 */
import { rankByRendezvous } from "../core/placement/rendezvous.ts";
import type {
  PolicyDeps,
  RoutingPolicy,
  RoutingPolicyPlugin,
} from "../core/routing_policy.ts";
import { rankByPowerOfTwo } from "./power_of_two.ts";

/** Registers the policy. */
export const rendezvous: RoutingPolicyPlugin = {
  name: "rendezvous",
  summary: "by hash of session key and endpoint; without a key by load",
  keyed: true,
  create(deps: PolicyDeps): RoutingPolicy {
    return {
      rank: ({ key }, candidates) =>
        key === undefined
          ? rankByPowerOfTwo(deps.random, candidates)
          : rankByRendezvous(key, candidates),
    };
  },
};
