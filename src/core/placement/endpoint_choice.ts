/**
 * Which endpoint takes a call, and the place reserved on it in the same step.
 *
 * A live binding beats the ranking. A session without one is placed by the
 * ranking, past endpoints that carry more than their share, and the choice is
 * kept as an unconfirmed binding while its calls are in flight, so that
 * parallel first calls stay together.
 *
 * Invariant: a choice holds exactly one place, on the endpoint that it names.
 *
 * @module
 */
import type { EndpointTable } from "../endpoints/endpoint_table.ts";
import { isPassedBy, isTried, type PlaceRequest } from "./place_request.ts";
import type { RoutingPolicy } from "../routing_policy.ts";
import type { SessionTable } from "../sessions/session_table.ts";

/**
 * - `none`: the request has no key.
 * - `new`: the session had no binding.
 * - `hit`: the bound endpoint takes it.
 * - `moved`: the bound endpoint is not eligible; another will be bound.
 * - `spilled`: another endpoint takes it this once, the binding stays: the
 *   bound one is full, or has not been seen since the gateway started.
 */
export type AffinityOutcome = "none" | "new" | "hit" | "moved" | "spilled";

/** Where a request goes, before the ledger knows of it. */
export interface Choice {
  /** The endpoint, as an index into the pool. */
  readonly index: number;
  readonly outcome: AffinityOutcome;
  /** The session's binding word at the time, or 0. */
  readonly formerBinding: number;
}

/** What chooses. */
export interface EndpointChoiceDeps {
  readonly sessions: SessionTable;
  readonly endpoints: EndpointTable;
  /** Ranks requests with a key. */
  readonly policy: RoutingPolicy;
  /** Ranks requests without a key. */
  readonly fallback: RoutingPolicy;
  /** How far above its share a new binding may load an endpoint; 1 and up. */
  readonly imbalance: number;
  /**
   * Until when a session stays bound to an endpoint that is still `probing`,
   * as nobody knows yet whether it is well; in milliseconds, `undefined` for
   * not at all.
   */
  readonly unseenUntilMs?: number;
}

/** Chooses endpoints for one thread. */
export class EndpointChoice {
  readonly #deps: EndpointChoiceDeps;

  constructor(deps: EndpointChoiceDeps) {
    this.#deps = deps;
  }

  /**
   * Chooses for a call and reserves a place.
   *
   * @param record The record of its session, or -1.
   * @returns `undefined` when no endpoint takes it now.
   */
  choose(request: PlaceRequest, record: number): Choice | undefined {
    const { pool } = request;
    if (pool.count === 0) return undefined;
    if (record < 0) {
      const outcome = request.key === undefined ? "none" : "new";
      const index = this.#takeRanked(request, outcome === "new");
      return index < 0 ? undefined : { index, outcome, formerBinding: 0 };
    }
    const formerBinding = this.#deps.sessions.binding(record);
    const bound = pool.indexOf(formerBinding);
    if (bound >= 0 && pool.isEligible(bound)) {
      const index = this.#takeOr(request, bound);
      const outcome = index === bound ? "hit" : "spilled";
      return index < 0 ? undefined : { index, outcome, formerBinding };
    }
    if (this.#isUnseen(request, bound)) {
      const index = this.#takeRanked(request, false);
      return index < 0
        ? undefined
        : { index, outcome: "spilled", formerBinding };
    }
    return this.#chooseUnbound(request, record, formerBinding);
  }

  /**
   * The endpoint that a session's calls belong to now: the bound one, or that
   * of its calls in flight. -1 for none that is eligible.
   */
  wanted(request: PlaceRequest, record: number): number {
    if (record < 0) return -1;
    const { sessions } = this.#deps;
    const { pool } = request;
    const bound = pool.indexOf(sessions.binding(record));
    if (bound >= 0 && pool.isEligible(bound)) return bound;
    const parallel = pool.indexOf(sessions.tentative(record));
    return parallel >= 0 && pool.isEligible(parallel) ? parallel : -1;
  }

  /**
   * What it means for a call that it got the place it waited for.
   *
   * @param index The endpoint, on which a place is reserved.
   */
  accept(request: PlaceRequest, record: number, index: number): Choice {
    if (record < 0) {
      const outcome = request.key === undefined ? "none" : "new";
      return { index, outcome, formerBinding: 0 };
    }
    const { sessions } = this.#deps;
    const { pool } = request;
    const formerBinding = sessions.binding(record);
    const bound = pool.indexOf(formerBinding);
    if (
      bound >= 0 && pool.isEligible(bound) || this.#isUnseen(request, bound)
    ) {
      const outcome = index === bound ? "hit" : "spilled";
      return { index, outcome, formerBinding };
    }
    const seen = sessions.tentative(record);
    const parallel = pool.indexOf(seen);
    const word = parallel >= 0 && pool.isEligible(parallel)
      ? seen
      : sessions.bindTentative(record, seen, pool.bindingOf(index));
    const isAlone = pool.indexOf(word) === index;
    const outcome = formerBinding === 0 ? "new" : "moved";
    return { index, outcome: isAlone ? outcome : "spilled", formerBinding };
  }

  /** Requests in flight on the endpoint in `slot`, over all threads. */
  inFlight(slot: number): number {
    return this.#deps.endpoints.inFlight(slot);
  }

  /** Whether a binding is to outlast that its endpoint takes no work yet. */
  #isUnseen({ nowMs, pool }: PlaceRequest, bound: number): boolean {
    const { endpoints, unseenUntilMs = 0 } = this.#deps;
    return bound >= 0 && nowMs < unseenUntilMs &&
      endpoints.state(pool.slot(bound)) === "probing";
  }

  /** Places a call of a session that has no binding to an eligible endpoint. */
  #chooseUnbound(
    request: PlaceRequest,
    record: number,
    formerBinding: number,
  ): Choice | undefined {
    const { sessions } = this.#deps;
    const { pool } = request;
    const outcome = formerBinding === 0 ? "new" : "moved";
    const seen = sessions.tentative(record);
    const parallel = pool.indexOf(seen);
    if (
      parallel >= 0 && pool.isEligible(parallel) &&
      !isTried(request, pool.slot(parallel))
    ) {
      const index = this.#takeOr(request, parallel);
      if (index < 0) return undefined;
      return {
        index,
        outcome: index === parallel ? outcome : "spilled",
        formerBinding,
      };
    }
    const index = this.#takeRanked(request, true);
    if (index < 0) return undefined;
    const word = sessions.bindTentative(record, seen, pool.bindingOf(index));
    const agreed = pool.indexOf(word);
    if (agreed === index) return { index, outcome, formerBinding };
    // A parallel call on another thread chose first: follow it if it has room.
    if (
      agreed >= 0 && pool.isEligible(agreed) &&
      !isTried(request, pool.slot(agreed)) && tryReserve(request, agreed)
    ) {
      this.#deps.endpoints.release(pool.slot(index));
      return { index: agreed, outcome, formerBinding };
    }
    return { index, outcome: "spilled", formerBinding };
  }

  /**
   * Takes a place on `wanted`, or unless the call would rather wait for it on
   * the next rank that has room; else -1.
   */
  #takeOr(request: PlaceRequest, wanted: number): number {
    const { pool } = request;
    if (!isTried(request, pool.slot(wanted)) && tryReserve(request, wanted)) {
      return wanted;
    }
    // An engine that asked to be left alone is not worth waiting for.
    const isPatient = request.isPatient &&
      !pool.isBusy(wanted, request.nowMs);
    return isPatient ? -1 : this.#takeRanked(request, false);
  }

  /**
   * Takes a place on the best ranked eligible endpoint with room; else -1.
   *
   * @param isBinding Whether a session will be bound: then endpoints above
   * their share are passed by, unless all are.
   */
  #takeRanked(request: PlaceRequest, isBinding: boolean): number {
    const { pool, key } = request;
    const policy = key === undefined ? this.#deps.fallback : this.#deps.policy;
    const ranking = policy.rank({ key }, pool);
    const overloaded: number[] = [];
    for (let index = ranking.next(); index >= 0; index = ranking.next()) {
      if (!pool.isEligible(index) || isTried(request, pool.slot(index))) {
        continue;
      }
      if (isBinding && pool.isOverloaded(index, this.#deps.imbalance)) {
        overloaded.push(index);
      } else if (tryReserve(request, index)) return index;
    }
    return overloaded.find((index) => tryReserve(request, index)) ?? -1;
  }
}

/** Takes a place on an endpoint; false when it is full, or passed by. */
function tryReserve(request: PlaceRequest, index: number): boolean {
  return !isPassedBy(request, index) && request.pool.tryReserve(index);
}
