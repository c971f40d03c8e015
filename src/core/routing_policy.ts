/**
 * The interface of a routing policy: the order in which endpoints are tried.
 *
 * Invariant: a policy only orders. Whether an endpoint is eligible, has room
 * or is bound to the session is decided by its caller, once for all policies.
 *
 * @module
 */
import type { KeyHash } from "./hash.ts";
import type { Named } from "./plugin.ts";

/** The endpoints of a pool as a policy sees them, by index. */
export interface Candidates {
  readonly count: number;
  /** Two hash words per endpoint, of its id: `[a0, b0, a1, b1, ...]`. */
  readonly hashes: Int32Array;
  /** Weight of each endpoint; over 0. */
  readonly weights: Float64Array;
  /** Requests in flight on an endpoint, over all workers, now. */
  inFlight(index: number): number;
}

/** What is known of the request. */
export interface RoutingFacts {
  /** Hash of the session key, or `undefined` when the request has none. */
  readonly key: KeyHash | undefined;
}

/** A lazy order of endpoints: the first choice, then the failover order. */
export interface Ranking {
  /** The index of the next endpoint, each at most once; -1 after the last. */
  next(): number;
}

/** Orders the endpoints of a pool for one request. */
export interface RoutingPolicy {
  /**
   * Ranks `candidates`, of which there is at least one.
   *
   * MUST yield every index exactly once before -1, MUST NOT keep or change
   * `candidates`, and MUST depend on nothing but its arguments, its own
   * state and the injected randomness.
   */
  rank(facts: RoutingFacts, candidates: Candidates): Ranking;
}

/** What a policy is given when it is built. */
export interface PolicyDeps {
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** What the author of a routing policy writes. */
export interface RoutingPolicyPlugin extends Named {
  /** Whether the order depends on the session key, where there is one. */
  readonly keyed: boolean;
  /** Builds a policy with its own state, for one worker thread. */
  create(deps: PolicyDeps): RoutingPolicy;
}
