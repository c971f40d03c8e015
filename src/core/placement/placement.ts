/**
 * Placement: what a request holds from the moment it has an endpoint, or waits
 * for one, until it is settled.
 *
 * Which endpoint takes it is `endpoint_choice.ts`. A request that none takes
 * is refused, with nothing held. If it wants to wait, it takes *hold* of its
 * session, so that it is not forgotten meanwhile, and is placed when the queue
 * (`wait_queue.ts`) has a place for it.
 *
 * Only an answer makes the endpoint the session's binding. Only a call that
 * was served to its end adds to what the session was served, and it adds to
 * what the session had been served when the call arrived: calls in parallel
 * lengthen the session's critical path by the longest of them alone
 * (Autellix, 4.2).
 *
 * Invariant: what `place` takes (a hold of the session, a place on the
 * endpoint, an entry of the ledger), `settle` gives back, exactly once, and
 * what `hold` takes, `letGo` or `placeHeld` with `settle`.
 *
 * @module
 */
import type {
  AffinityOutcome,
  Choice,
  EndpointChoice,
} from "./endpoint_choice.ts";
import type { ErrorCode } from "../error.ts";
import type { Ledger } from "./ledger.ts";
import { hasEligible, type PlaceRequest } from "./place_request.ts";
import type { Pool } from "./pool.ts";
import type { SessionTable } from "../sessions/session_table.ts";

export type { AffinityOutcome } from "./endpoint_choice.ts";
export type { PlaceRequest } from "./place_request.ts";

/** A request's hold of its session; times in milliseconds. */
export interface Held {
  /** The session's record, or -1 when it is not tracked. */
  readonly record: number;
  /** The entry of the ledger. */
  readonly entry: number;
  readonly arrivedAtMs: number;
  /** The session's critical path when the request arrived. */
  readonly inheritedMs: number;
  /** How long the calls before it had waited. */
  readonly inheritedWaitMs: number;
}

/** A request that has its endpoint, until it is settled. */
export interface Placed extends Held {
  readonly kind: "placed";
  readonly pool: Pool;
  /** The endpoint, as an index into the pool. */
  readonly index: number;
  /** The endpoint's slot in the endpoint table. */
  readonly slot: number;
  readonly outcome: AffinityOutcome;
  /** The binding word of the endpoint that was chosen. */
  readonly binding: number;
  /** The session's binding word at the time, or 0. */
  readonly formerBinding: number;
  readonly placedAtMs: number;
  /** Requests in flight on the endpoint at the time, itself included. */
  readonly inFlight: number;
  /** The part of its wait that counts for its session. */
  readonly waitedMs: number;
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

/** Takes back places; a queue gives them to calls that wait. */
export interface Places {
  release(slot: number, nowMs: number): void;
}

/** What a gateway thread places with. */
export interface PlacementDeps {
  readonly sessions: SessionTable;
  readonly choice: EndpointChoice;
  readonly ledger: Ledger;
  readonly places: Places;
}

/** How a request ended, for what is known of its session. */
export interface Ending {
  /** Whether it was served to its end. */
  readonly isServed: boolean;
  /** Whether its session is over, by its client's word. */
  readonly isFinal: boolean;
}

const UNSERVED: Ending = { isServed: false, isFinal: false };

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
    const { choice, sessions, ledger } = this.#deps;
    if (ledger.isFull) return { kind: "refused", code: "endpoints_full" };
    const { nowMs } = request;
    const record = this.#pin(request);
    const chosen = choice.choose(request, record);
    if (chosen === undefined) {
      if (record >= 0) sessions.unpin(record, nowMs);
      return { kind: "refused", code: refusalCode(request) };
    }
    const entry = ledger.open(record, request.pool.slot(chosen.index));
    return this.#placed(request, this.#held(record, entry, nowMs), chosen);
  }

  /**
   * Takes hold of the session of a request that is going to wait.
   *
   * @returns `undefined` when this thread holds as much as it can.
   */
  hold(request: PlaceRequest): Held | undefined {
    const { ledger } = this.#deps;
    if (ledger.isFull) return undefined;
    const record = this.#pin(request);
    return this.#held(record, ledger.openWaiting(record), request.nowMs);
  }

  /** The slot of the endpoint that the session's calls belong to, or -1. */
  wantedSlot(request: PlaceRequest, held: Held): number {
    const index = this.#deps.choice.wanted(request, held.record);
    return index < 0 ? -1 : request.pool.slot(index);
  }

  /**
   * Places a request that has waited.
   *
   * A boost spends what its session has waited: otherwise every later call
   * would be boosted too.
   *
   * @param granted An endpoint of the request's pool, on which a place has been
   * reserved for it.
   */
  placeHeld(
    request: PlaceRequest,
    held: Held,
    granted: { readonly slot: number; readonly isBoosted: boolean },
  ): Placed {
    const { choice, ledger, sessions } = this.#deps;
    const { isBoosted, slot } = granted;
    ledger.setPlace(held.entry, slot);
    const index = request.pool.indexAt(slot);
    const chosen = choice.accept(request, held.record, index);
    if (!isBoosted) return this.#placed(request, held, chosen);
    if (held.record >= 0) sessions.clearWaited(held.record);
    const { nowMs } = request;
    const spent = { ...held, inheritedWaitMs: 0, arrivedAtMs: nowMs };
    return this.#placed(request, spent, chosen);
  }

  /** Gives back what `hold` took, for a request that waits no more. */
  letGo(held: Held, nowMs: number): void {
    const { ledger, sessions } = this.#deps;
    ledger.strikeSession(held.entry);
    if (held.record >= 0) sessions.unpin(held.record, nowMs);
    ledger.close(held.entry);
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
  settle(placed: Placed, nowMs: number, ending: Ending = UNSERVED): boolean {
    if (!placed.isOpen) {
      this.#settledTwice++;
      return false;
    }
    placed.isOpen = false;
    this.#openCount--;
    const { places, sessions, ledger } = this.#deps;
    const { record, entry, slot } = placed;
    if (record >= 0 && ending.isServed) {
      sessions.addService(record, {
        inheritedMs: placed.inheritedMs,
        inheritedWaitMs: placed.inheritedWaitMs,
        serviceMs: nowMs - placed.placedAtMs,
        waitMs: placed.waitedMs,
      });
    }
    if (record >= 0 && ending.isFinal) sessions.end(record);
    // This order bounds what a thread stopped in between can cost: see there.
    ledger.strikeSession(entry);
    if (record >= 0) sessions.unpin(record, nowMs);
    places.release(slot, nowMs);
    ledger.close(entry);
    return true;
  }

  #pin({ key, pool, nowMs }: PlaceRequest): number {
    if (key === undefined) return -1;
    return this.#deps.sessions.pin(pool.scope(key), nowMs);
  }

  #held(record: number, entry: number, arrivedAtMs: number): Held {
    const { sessions } = this.#deps;
    const isTracked = record >= 0;
    return {
      record,
      entry,
      arrivedAtMs,
      inheritedMs: isTracked ? sessions.criticalPathMs(record) : 0,
      inheritedWaitMs: isTracked ? sessions.waitedMs(record) : 0,
    };
  }

  #placed(request: PlaceRequest, held: Held, chosen: Choice): Placed {
    const { pool } = request;
    // A call that fails over has been counted when it was placed first.
    if (held.record >= 0 && request.tried === undefined) {
      this.#deps.sessions.addTurn(held.record);
    }
    this.#openCount++;
    const slot = pool.slot(chosen.index);
    return {
      kind: "placed",
      pool,
      index: chosen.index,
      slot,
      outcome: chosen.outcome,
      record: held.record,
      entry: held.entry,
      binding: pool.bindingOf(chosen.index),
      formerBinding: chosen.formerBinding,
      arrivedAtMs: held.arrivedAtMs,
      inheritedMs: held.inheritedMs,
      inheritedWaitMs: held.inheritedWaitMs,
      placedAtMs: request.nowMs,
      inFlight: this.#deps.choice.inFlight(slot),
      waitedMs: request.nowMs - held.arrivedAtMs,
      isOpen: true,
    };
  }
}

/** Why nothing was taken: all eligible ones are full, or there are none. */
function refusalCode(request: PlaceRequest): Refused["code"] {
  return hasEligible(request, () => true)
    ? "endpoints_full"
    : "no_eligible_endpoint";
}
