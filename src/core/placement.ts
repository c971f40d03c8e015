/**
 * Placement: the one synchronous decision where a request goes, and the only
 * place that knows how bindings, ranking, limits and load fit together.
 *
 * A live binding beats the ranking. A session without one is placed by the
 * ranking, past endpoints that carry more than their share, and the choice is
 * kept as an unconfirmed binding while its calls are in flight, so that
 * parallel first calls stay together. Only an answer makes it the binding.
 *
 * Everything is reserved in the same step that chooses. Waiting, for a bound
 * endpoint at its limit or in a queue, is not decided here: who wants to wait
 * does so on a refusal of kind `endpoints_full`, or before accepting a
 * placement whose outcome is `spilled`.
 *
 * Invariant: what `place` takes (a hold of the session, a place on the
 * endpoint, an entry of the ledger), `settle` gives back, exactly once.
 *
 * @module
 */
import type { EndpointTable } from "./endpoint_table.ts";
import type { ErrorCode } from "./error.ts";
import type { Ledger } from "./ledger.ts";
import {
  hasEligible,
  isTried,
  type PlaceRequest,
  tryReserve,
} from "./place_request.ts";
import type { RoutingPolicy } from "./routing_policy.ts";
import type { SessionTable } from "./session_table.ts";

export type { PlaceRequest } from "./place_request.ts";

/**
 * - `none`: the request has no key.
 * - `new`: the session had no binding.
 * - `hit`: the bound endpoint takes it.
 * - `moved`: the bound endpoint is not eligible; another will be bound.
 * - `spilled`: another endpoint takes it this once, the binding stays.
 */
export type AffinityOutcome = "none" | "new" | "hit" | "moved" | "spilled";

/** A request that has its endpoint, until it is settled. */
export interface Placed {
  readonly kind: "placed";
  /** The endpoint, as an index into the pool. */
  readonly index: number;
  /** The endpoint's slot in the endpoint table. */
  readonly slot: number;
  readonly outcome: AffinityOutcome;
  /** The session's record, or -1 when it is not tracked. */
  readonly record: number;
  /** The entry of the ledger. */
  readonly entry: number;
  /** The binding word of the endpoint that was chosen. */
  readonly binding: number;
  /** The session's binding word at the time, or 0. */
  readonly formerBinding: number;
  /** Whether it is still to be settled; written by the placement alone. */
  isOpen: boolean;
}

/** A request that no endpoint takes now; nothing is held for it. */
export interface Refused {
  readonly kind: "refused";
  readonly code: Extract<ErrorCode, "no_eligible_endpoint" | "endpoints_full">;
}

/** What `place` decides. */
export type PlaceResult = Placed | Refused;

/** What a gateway thread places with. */
export interface PlacementDeps {
  readonly sessions: SessionTable;
  readonly endpoints: EndpointTable;
  readonly ledger: Ledger;
  /** Ranks requests with a key. */
  readonly policy: RoutingPolicy;
  /** Ranks requests without a key. */
  readonly fallback: RoutingPolicy;
  /** How far above its share a new binding may load an endpoint; 1 and up. */
  readonly imbalance: number;
}

/** Where a request goes, before the ledger knows of it. */
interface Choice {
  readonly index: number;
  readonly outcome: AffinityOutcome;
  readonly formerBinding: number;
}

/** One request on its way through `place`. */
interface Call {
  readonly request: PlaceRequest;
  /** Its session's record, or -1. */
  readonly record: number;
}

/** Places the requests of one thread. */
export class Placement {
  readonly #deps: PlacementDeps;
  #openCount = 0;
  #settledTwice = 0;

  constructor(deps: PlacementDeps) {
    this.#deps = deps;
  }

  /** Requests placed and not settled. */
  get openCount(): number {
    return this.#openCount;
  }

  /** Calls of `settle` for a settled request: each is a bug of the caller. */
  get settledTwiceCount(): number {
    return this.#settledTwice;
  }

  /** Chooses an endpoint and reserves a place on it. */
  place(request: PlaceRequest): PlaceResult {
    const { sessions, ledger } = this.#deps;
    if (ledger.isFull) return { kind: "refused", code: "endpoints_full" };
    const { key, pool, nowMs } = request;
    const record = key === undefined
      ? -1
      : sessions.pin(pool.scope(key), nowMs);
    const choice = this.#choose({ request, record });
    if (choice === undefined) {
      if (record >= 0) sessions.unpin(record, nowMs);
      return { kind: "refused", code: refusalCode(request) };
    }
    // A call that fails over has been counted when it was placed first.
    if (record >= 0 && request.tried === undefined) sessions.addTurn(record);
    const slot = pool.slot(choice.index);
    const placed: Placed = {
      kind: "placed",
      index: choice.index,
      slot,
      outcome: choice.outcome,
      record,
      entry: ledger.open(record, slot),
      binding: pool.bindingOf(choice.index),
      formerBinding: choice.formerBinding,
      isOpen: true,
    };
    this.#openCount++;
    return placed;
  }

  /** Notes that the endpoint has answered: this is what binds a session. */
  answered(placed: Placed): void {
    if (placed.record < 0 || !placed.isOpen) return;
    if (placed.outcome === "spilled") return;
    this.#deps.sessions.confirm(
      placed.record,
      placed.formerBinding,
      placed.binding,
    );
  }

  /** Notes that the attempt failed; the third in a row drops the binding. */
  failed(placed: Placed): void {
    if (placed.record < 0 || !placed.isOpen) return;
    this.#deps.sessions.noteFailure(placed.record, placed.binding);
  }

  /**
   * Gives everything back.
   *
   * @returns False, having done nothing but count it, when the request was
   * settled before.
   */
  settle(placed: Placed, nowMs: number): boolean {
    if (!placed.isOpen) {
      this.#settledTwice++;
      return false;
    }
    placed.isOpen = false;
    this.#openCount--;
    const { sessions, endpoints, ledger } = this.#deps;
    // This order bounds what a thread stopped in between can cost: see there.
    ledger.strikeSession(placed.entry);
    if (placed.record >= 0) sessions.unpin(placed.record, nowMs);
    endpoints.release(placed.slot);
    ledger.close(placed.entry);
    return true;
  }

  #choose(call: Call): Choice | undefined {
    const { request, record } = call;
    if (request.pool.count === 0) return undefined;
    if (record < 0) {
      const outcome = request.key === undefined ? "none" : "new";
      const index = this.#takeRanked(request, outcome === "new");
      return index < 0 ? undefined : { index, outcome, formerBinding: 0 };
    }
    const formerBinding = this.#deps.sessions.binding(record);
    const bound = request.pool.indexOf(formerBinding);
    if (bound >= 0 && request.pool.isEligible(bound)) {
      const index = this.#takeOr(request, bound);
      const outcome = index === bound ? "hit" : "spilled";
      return index < 0 ? undefined : { index, outcome, formerBinding };
    }
    return this.#chooseUnbound(call, formerBinding);
  }

  /** Places a call of a session that has no binding to an eligible endpoint. */
  #chooseUnbound(call: Call, formerBinding: number): Choice | undefined {
    const { sessions } = this.#deps;
    const { request, record } = call;
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

  /** Takes a place on `wanted`, or on the next rank that has room; else -1. */
  #takeOr(request: PlaceRequest, wanted: number): number {
    const { pool } = request;
    if (!isTried(request, pool.slot(wanted)) && tryReserve(request, wanted)) {
      return wanted;
    }
    // Patience for the bound endpoint belongs to the caller: see the header.
    return this.#takeRanked(request, false);
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

/** Why nothing was taken: all eligible ones are full, or there are none. */
function refusalCode(request: PlaceRequest): Refused["code"] {
  return hasEligible(request, () => true)
    ? "endpoints_full"
    : "no_eligible_endpoint";
}
