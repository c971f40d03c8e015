/**
 * A call that waits for a place, and when something about it changes.
 *
 * Invariant: a call that was taken in ends in exactly one of `granted`,
 * `gaveUp` or its removal by whoever put it in.
 *
 * @module
 */
import type { HeapEntry, IndexedHeap } from "./indexed_heap.ts";
import type { Pool } from "../placement/pool.ts";
import { packRank } from "./queue_rank.ts";

/**
 * - `timeout`: it has waited as long as it may.
 * - `unserved`: its pool is no more.
 * - `stopping`: the gateway stops.
 */
export type GiveUpReason = "timeout" | "unserved" | "stopping";

/** What a queue must know of a call; times on the gateway's clock. */
export interface WaitingCallFacts {
  readonly pool: Pool;
  /** The slot of its session's endpoint in that pool, or -1. */
  readonly boundSlot: number;
  /** Slots of endpoints that have failed it. */
  readonly tried: readonly number[] | undefined;
  /** The policy's level, from 0. */
  readonly level: number;
  /** Until when it waits for its session's endpoint alone. */
  readonly patienceUntilMs: number;
  /** When what it has waited outweighs what it was served; see `boostAtMs`. */
  readonly boostAtMs: number;
  /** When it goes before all that are not. */
  readonly overdueAtMs: number;
  readonly timeoutAtMs: number;
  /** The pool after a change of the routes; `undefined` for none. */
  readonly poolNow: () => Pool | undefined;
  /** It has got a place on `slot`, reserved for it; MUST NOT throw. */
  readonly granted: (slot: number, nowMs: number, call: WaitingCall) => void;
  /** It waits no more; MUST NOT throw. */
  readonly gaveUp: (reason: GiveUpReason) => void;
}

/** A call's place in one heap. */
export interface RankedEntry extends HeapEntry {
  readonly call: WaitingCall;
  readonly heap: IndexedHeap<RankedEntry>;
  /** Whether the places it asks for here are not its session's endpoint's. */
  readonly isAway: boolean;
  rank: number;
}

/** A call in a queue; only the queue writes it. */
export class WaitingCall implements HeapEntry {
  heapPlace = -1;
  /** When something about it changes next. */
  nextAtMs = 0;
  pool: Pool;
  /** The slot of its session's endpoint, or -1. */
  boundSlot: number;
  /** -1 once it is overdue. */
  level: number;
  isBoosted = false;
  /** Whether it waits for its session's endpoint alone. */
  isPatient: boolean;
  entries: RankedEntry[] = [];
  /** Neighbors in the order of arrival. */
  earlier: WaitingCall | undefined;
  later: WaitingCall | undefined;
  readonly facts: WaitingCallFacts;
  readonly arrival: number;
  readonly arrivedAtMs: number;
  /** Which count of waiting calls it is in. */
  readonly cell: number;

  constructor(
    facts: WaitingCallFacts,
    at: {
      readonly arrival: number;
      readonly nowMs: number;
      readonly cell: number;
    },
  ) {
    this.facts = facts;
    this.pool = facts.pool;
    this.boundSlot = facts.boundSlot;
    this.level = facts.level;
    this.arrival = at.arrival;
    this.arrivedAtMs = at.nowMs;
    this.cell = at.cell;
    this.isPatient = facts.boundSlot >= 0 && facts.tried === undefined &&
      facts.patienceUntilMs > at.nowMs;
    this.plan();
  }

  /**
   * From now on it waits for `pool`. A session's endpoint that is none of it
   * would be asked for in vain, and keep its places from those it serves.
   */
  enterPool(pool: Pool): void {
    this.pool = pool;
    if (pool.indexAt(this.boundSlot) >= 0) return;
    this.boundSlot = -1;
    this.isPatient = false;
    this.plan();
  }

  rankOf(isAway: boolean): number {
    return packRank(this.level, isAway, this.arrival);
  }

  /** Works out when something changes next. */
  plan(): void {
    const { boostAtMs, overdueAtMs, patienceUntilMs, timeoutAtMs } = this.facts;
    let next = timeoutAtMs;
    if (this.level >= 0) next = Math.min(next, overdueAtMs);
    if (this.level > 0) next = Math.min(next, boostAtMs);
    if (this.isPatient) next = Math.min(next, patienceUntilMs);
    this.nextAtMs = next;
  }
}

/** What a session has had, in milliseconds. */
export interface SessionPast {
  readonly servedMs: number;
  readonly waitedMs: number;
  /** How long the call is expected to take; 0 when that is not known. */
  readonly expectedMs: number;
}

/**
 * When a call that arrives now has earned the top level: as soon as
 * (W_session + W_call) / (T_session + T_call) reaches `ratio` (Autellix, 4.3).
 * Nothing of a waiting call has been served, and its session's sums are those
 * it inherits, so that only the call's own wait grows: the time is known at
 * once, and holding calls against it is evaluating the ratio at every pass.
 */
export function boostAtMs(
  past: SessionPast,
  ratio: number,
  nowMs: number,
): number {
  const { expectedMs, servedMs, waitedMs } = past;
  const total = servedMs + expectedMs;
  if (total <= 0) return Infinity;
  return nowMs + Math.max(0, ratio * total - waitedMs);
}
