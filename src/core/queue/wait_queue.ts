/**
 * The calls of one worker that wait for a place on an endpoint, and the order
 * in which they get one.
 *
 * Overdue calls go first, oldest first; then level by level. Inside a level
 * those whose session is bound to the endpoint go first, and among equals
 * whoever came first. A call that is patient waits for its session's endpoint
 * alone; when it no longer is, any endpoint of its pool will do. Pools are
 * apart, so a full model never holds up another.
 *
 * A place is given away in the step that gives it back, without being freed:
 * see `queue_board.ts` for calls of other workers. When the endpoint takes no
 * work, or holds more than its limit by now, the place is freed instead.
 *
 * Time is an argument. What changes with time (`WaitingCall.nextAtMs`) is
 * applied before each place is given away, so no call is passed by that has
 * earned its turn in this worker; other workers see it at their next `tick`.
 *
 * Invariant: no call waits while an endpoint it would take has room, but for
 * the time up to the next `tick`. A call that left holds nothing.
 *
 * @module
 */
import {
  ENDPOINTS_MAX,
  type EndpointTable,
} from "../endpoints/endpoint_table.ts";
import { IndexedHeap } from "./indexed_heap.ts";
import { takesWork } from "../placement/place_keeper.ts";
import { isPassedBy } from "../placement/place_request.ts";
import type { QueueBoard } from "./queue_board.ts";
import {
  type GiveUpReason,
  WaitingCall,
  type WaitingCallFacts,
} from "./waiting_call.ts";
import { WaitingHeads } from "./waiting_heads.ts";

/** What a queue is made of. */
export interface WaitQueueDeps {
  readonly board: QueueBoard;
  readonly endpoints: EndpointTable;
  /** The worker's row of the board. */
  readonly worker: number;
  /** Most calls that wait for one pool, over all workers. */
  readonly callsMax: number;
}

/** The waiting calls of one worker. */
export class WaitQueue {
  readonly #deps: WaitQueueDeps;
  readonly #heads: WaitingHeads;
  readonly #changes = new IndexedHeap<WaitingCall>((one, other) =>
    one.nextAtMs < other.nextAtMs
  );
  #earliest: WaitingCall | undefined;
  #latest: WaitingCall | undefined;

  constructor(deps: WaitQueueDeps) {
    this.#deps = deps;
    this.#heads = new WaitingHeads(deps.board, deps.worker);
  }

  /** Calls that wait in this worker. */
  get size(): number {
    return this.#changes.size;
  }

  /** When `tick` next has something to do; `Infinity` for never. */
  get nextAtMs(): number {
    return this.#changes.peek()?.nextAtMs ?? Infinity;
  }

  /**
   * Takes a call in. It may be granted a place before this returns.
   *
   * @returns `undefined` when as many wait for its pool as may.
   */
  add(facts: WaitingCallFacts, nowMs: number): WaitingCall | undefined {
    const { board, callsMax, worker } = this.#deps;
    const cell = board.poolCell(facts.pool.seed);
    if (!board.enter(worker, cell, callsMax)) return undefined;
    const arrival = board.arrive();
    const call = new WaitingCall(facts, { arrival, nowMs, cell });
    call.earlier = this.#latest;
    if (this.#latest === undefined) this.#earliest = call;
    else this.#latest.later = call;
    this.#latest = call;
    board.countLevel(worker, call.level, 1);
    this.#changes.push(call);
    this.#heads.enlist(call);
    // A place may have been freed since the caller found none.
    this.#serveCall(call, nowMs);
    return call;
  }

  /** Takes a call out; false when it waits no more. */
  remove(call: WaitingCall): boolean {
    if (call.heapPlace < 0) return false;
    const { board, worker } = this.#deps;
    this.#changes.remove(call);
    this.#heads.delist(call);
    if (call.earlier === undefined) this.#earliest = call.later;
    else call.earlier.later = call.later;
    if (call.later === undefined) this.#latest = call.earlier;
    else call.later.earlier = call.earlier;
    board.countLevel(worker, call.level, -1);
    board.leave(worker, call.cell);
    return true;
  }

  /**
   * Gives a reserved place on `slot` to the best waiting call of all workers,
   * or frees it.
   */
  release(slot: number, nowMs: number): void {
    const { board, endpoints } = this.#deps;
    if (board.waitingCount > 0) {
      this.#apply(nowMs);
      const isWanted = takesWork(endpoints, slot, { nowMs, isReserved: true });
      if (isWanted && this.#give(slot, nowMs)) return;
    }
    endpoints.release(slot);
    // Who came in between looked for a place before it was free.
    if (board.waitingCount > 0) this.#offer(slot, nowMs);
  }

  /** Takes the places that other workers have handed over. */
  collect(nowMs: number): void {
    const { board, worker } = this.#deps;
    board.takeGrants(worker, (slot) => {
      this.release(slot, nowMs);
      if (board.waitingCount > 0) this.#offer(slot, nowMs);
    });
  }

  /** Applies what has changed with time, and gives away places left over. */
  tick(nowMs: number): void {
    this.collect(nowMs);
    this.#apply(nowMs);
    this.#loosen(nowMs);
    for (let slot = 0; slot < ENDPOINTS_MAX; slot++) {
      if (this.#heads.isWanted(slot)) this.#offer(slot, nowMs);
    }
    const waitMs = nowMs - (this.#earliest?.arrivedAtMs ?? nowMs);
    this.#deps.board.noteLongest(this.#deps.worker, waitMs);
  }

  /** Puts all calls where they belong after a change of the routes. */
  reroute(nowMs: number): void {
    let next: WaitingCall | undefined;
    for (let call = this.#earliest; call !== undefined; call = next) {
      next = call.later;
      const pool = call.facts.poolNow();
      if (pool === undefined) this.#giveUp(call, "unserved");
      else {
        this.#heads.delist(call);
        call.enterPool(pool);
        this.#changes.update(call);
      }
    }
    this.#heads.clearPools();
    for (let call = this.#earliest; call !== undefined; call = call.later) {
      this.#heads.enlist(call);
    }
    this.tick(nowMs);
  }

  /** Has every call wait no more. */
  giveUpAll(reason: GiveUpReason): void {
    while (this.#earliest !== undefined) this.#giveUp(this.#earliest, reason);
  }

  /** Applies what is due by now. */
  #apply(nowMs: number): void {
    const { board, worker } = this.#deps;
    for (;;) {
      const call = this.#changes.peek();
      if (call === undefined || !(call.nextAtMs <= nowMs)) return;
      const { boostAtMs, overdueAtMs, patienceUntilMs, timeoutAtMs } =
        call.facts;
      if (timeoutAtMs <= nowMs) {
        this.#giveUp(call, "timeout");
        continue;
      }
      if (call.isPatient && patienceUntilMs <= nowMs) this.#widen(call);
      const former = call.level;
      if (overdueAtMs <= nowMs) call.level = -1;
      else if (boostAtMs <= nowMs && former > 0) {
        call.level = 0;
        call.isBoosted = true;
      }
      if (call.level !== former) {
        board.countLevel(worker, former, -1);
        board.countLevel(worker, call.level, 1);
        this.#heads.rerank(call);
      }
      call.plan();
      this.#changes.update(call);
    }
  }

  /** Has no call wait for an endpoint that takes no work. */
  #loosen(nowMs: number): void {
    const { endpoints } = this.#deps;
    for (let slot = 0; slot < ENDPOINTS_MAX; slot++) {
      if (!this.#heads.isWanted(slot)) continue;
      if (endpoints.state(slot) === "ready") continue;
      for (const call of this.#heads.patientFor(slot)) this.#widen(call);
    }
    this.#apply(nowMs);
  }

  /** From now on the call takes any endpoint of its pool. */
  #widen(call: WaitingCall): void {
    this.#heads.widen(call);
    call.plan();
    this.#changes.update(call);
  }

  #giveUp(call: WaitingCall, reason: GiveUpReason): void {
    if (this.remove(call)) call.facts.gaveUp(reason);
  }

  /** Gives a reserved place away; false when nobody waits for it. */
  #give(slot: number, nowMs: number): boolean {
    const { board, worker } = this.#deps;
    const best = board.best(slot);
    if (best < 0) return false;
    if (best !== worker) {
      board.grant(best, slot);
      return true;
    }
    const call = this.#heads.best(slot);
    // The slot may be another endpoint's by now, of which this worker has not
    // heard yet.
    const index = call?.pool.indexAt(slot) ?? -1;
    if (call === undefined || !call.pool.isEligible(index)) return false;
    const { facts: { tried }, pool } = call;
    if (isPassedBy({ pool, nowMs, tried }, index)) return false;
    this.remove(call);
    call.facts.granted(slot, nowMs, call);
    return true;
  }

  /** Gives free places on `slot` to this worker's calls, if they are best. */
  #serveSlot(slot: number, nowMs: number): void {
    const { board, endpoints, worker } = this.#deps;
    // Bounded by the endpoint's room, and by the calls that wait.
    const at = { nowMs, isReserved: false };
    while (
      board.best(slot) === worker && takesWork(endpoints, slot, at) &&
      endpoints.tryReserve(slot)
    ) {
      if (this.#give(slot, nowMs)) continue;
      endpoints.release(slot);
      return;
    }
  }

  /**
   * Gives free places on `slot` away: to this worker's calls while they are
   * best, then one to the worker of a better call, which goes on from there.
   */
  #offer(slot: number, nowMs: number): void {
    const { board, endpoints } = this.#deps;
    this.#serveSlot(slot, nowMs);
    const at = { nowMs, isReserved: false };
    if (board.best(slot) < 0 || !takesWork(endpoints, slot, at)) return;
    if (!endpoints.tryReserve(slot)) return;
    if (!this.#give(slot, nowMs)) endpoints.release(slot);
  }

  #serveCall(call: WaitingCall, nowMs: number): void {
    if (call.isPatient) return this.#serveSlot(call.boundSlot, nowMs);
    const { pool } = call;
    for (let index = 0; index < pool.count; index++) {
      if (call.heapPlace < 0) return;
      this.#serveSlot(pool.slot(index), nowMs);
    }
  }
}
