/**
 * Calls that wait in several workers for the places of a few endpoints,
 * without threads or time, and what a single queue would have served.
 *
 * Invariant: the queues and the board are the real ones; `expected` is worked
 * out from a plain list, by the words of the design alone.
 *
 * @module
 */
import { PlaceKeeper } from "../src/core/placement/place_keeper.ts";
import { QueueBoard } from "../src/core/queue/queue_board.ts";
import { WaitQueue } from "../src/core/queue/wait_queue.ts";
import type {
  GiveUpReason,
  WaitingCall,
} from "../src/core/queue/waiting_call.ts";
import { World, type WorldEndpoint } from "./placement_world.ts";

/** What a call of the world asks for. */
export interface Arrival {
  readonly worker?: number;
  readonly level?: number;
  /** Id of the endpoint that its session is bound to. */
  readonly bound?: string;
  readonly model?: string;
  readonly tried?: readonly string[];
  readonly patienceMs?: number;
  readonly boostMs?: number;
  readonly overdueMs?: number;
  readonly timeoutMs?: number;
}

/** A call of the world. */
export interface WorldCall {
  readonly name: string;
  readonly arrival: Arrival;
  readonly number: number;
  readonly arrivedAtMs: number;
  call: WaitingCall | undefined;
  /** Id of the endpoint it was granted a place on. */
  servedBy: string | undefined;
  gaveUp: GiveUpReason | undefined;
}

/** Queues of several workers. */
export class QueueWorld {
  readonly world: World;
  readonly board: QueueBoard;
  readonly queues: WaitQueue[];
  /** Names of calls in the order in which they were granted places. */
  readonly served: string[] = [];
  readonly waiting: WorldCall[] = [];
  /** Called when a call is served, while it still counts as waiting. */
  onServed: (made: WorldCall) => void = () => {};
  nowMs = 0;
  readonly #callsMax: number;
  #count = 0;

  constructor(
    endpoints: readonly WorldEndpoint[],
    options: { readonly workers?: number; readonly callsMax?: number } = {},
  ) {
    const workers = options.workers ?? 1;
    this.world = new World({ endpoints });
    this.board = QueueBoard.create(workers);
    this.#callsMax = options.callsMax ?? 1_000;
    this.queues = Array.from(
      { length: workers },
      (_, worker) => this.#newQueue(worker),
    );
  }

  queue(worker = 0): WaitQueue {
    const queue = this.queues[worker];
    if (queue === undefined) throw new Error(`Cannot find worker ${worker}`);
    return queue;
  }

  /** Takes every place of every endpoint. */
  fill(): void {
    const { endpoints, pools } = this.world;
    for (let index = 0; index < pools.whole.count; index++) {
      while (endpoints.tryReserve(pools.whole.slot(index)));
    }
  }

  /** A call that waits; `call` is `undefined` when its pool's queue is full. */
  arrive(name: string, arrival: Arrival = {}): WorldCall {
    const { nowMs, world } = this;
    const made: WorldCall = {
      name,
      arrival,
      number: this.#count++,
      arrivedAtMs: nowMs,
      call: undefined,
      servedBy: undefined,
      gaveUp: undefined,
    };
    const { boostMs, bound, level, overdueMs, patienceMs, timeoutMs } = arrival;
    this.waiting.push(made);
    made.call = this.queue(arrival.worker).add({
      pool: world.pool(arrival.model),
      boundSlot: bound === undefined ? -1 : world.slot(bound),
      tried: arrival.tried?.map((id) => world.slot(id)),
      level: level ?? 0,
      patienceUntilMs: nowMs + (patienceMs ?? 0),
      boostAtMs: nowMs + (boostMs ?? Infinity),
      overdueAtMs: nowMs + (overdueMs ?? Infinity),
      timeoutAtMs: nowMs + (timeoutMs ?? Infinity),
      poolNow: () => world.pools.poolFor(arrival.model),
      granted: (slot) => {
        made.servedBy = this.idAt(slot);
        this.onServed(made);
        this.served.push(name);
        this.#forget(made);
      },
      gaveUp: (reason) => {
        made.gaveUp = reason;
        this.#forget(made);
      },
    }, nowMs);
    if (made.call === undefined) this.#forget(made);
    return made;
  }

  /** The client of a waiting call leaves. */
  leave(made: WorldCall): boolean {
    this.#forget(made);
    return made.call !== undefined &&
      this.queue(made.arrival.worker).remove(made.call);
  }

  /**
   * What the supervisor does for a dead worker, and its successor at first.
   *
   * @param places Slots that calls of the dead one hold places on.
   * @returns The calls that waited in it.
   */
  replace(worker: number, places: readonly number[] = []): WorldCall[] {
    const { board, nowMs, world: { endpoints } } = this;
    const keeper = new PlaceKeeper(board, endpoints);
    const lost = this.waiting.filter((made) =>
      (made.arrival.worker ?? 0) === worker
    );
    for (const made of lost) this.#forget(made);
    board.reclaim(worker, (slot) => keeper.release(slot, nowMs));
    for (const slot of places) keeper.release(slot, nowMs);
    this.queues[worker] = this.#newQueue(worker);
    this.queue(worker).collect(nowMs);
    return lost;
  }

  /** A place on an endpoint is given back in a worker. */
  free(id: string, worker = 0): void {
    this.queue(worker).release(this.world.slot(id), this.nowMs);
  }

  /** All workers take what was handed over to them, until nothing moves. */
  settle(): void {
    // A place goes to a strictly better call, or stays: a few rounds do.
    for (let round = 0; round < 4; round++) {
      for (const queue of this.queues) queue.collect(this.nowMs);
    }
  }

  /** Time passes, and every worker has its tick. */
  pass(ms: number): void {
    this.nowMs += ms;
    for (const queue of this.queues) queue.tick(this.nowMs);
    this.settle();
  }

  /** The call that a single queue would give a place on `id` to. */
  expected(id: string): WorldCall | undefined {
    const open = this.waiting.filter((made) => this.wants(made, id));
    return open.sort((one, other) =>
      compareOrders(this.order(one, id), this.order(other, id))
    )[0];
  }

  /** Whether a call takes a place on `id` now. */
  wants({ arrival, arrivedAtMs }: WorldCall, id: string): boolean {
    const { whole } = this.world.pools;
    const pool = this.world.pools.poolFor(arrival.model) ?? whole;
    if (!pool.ids.includes(id) || arrival.tried?.includes(id)) return false;
    const isPatient = arrival.bound !== undefined &&
      pool.ids.includes(arrival.bound) && arrival.tried === undefined &&
      this.nowMs < arrivedAtMs + (arrival.patienceMs ?? 0);
    return arrival.bound === id || !isPatient;
  }

  /** Where a call stands in the queue for `id`: smaller goes first. */
  order(made: WorldCall, id: string): number[] {
    const { arrival, number } = made;
    const waitedMs = this.nowMs - made.arrivedAtMs;
    if (waitedMs >= (arrival.overdueMs ?? Infinity)) return [-1, 0, number];
    const isBoosted = waitedMs >= (arrival.boostMs ?? Infinity);
    const level = isBoosted ? 0 : arrival.level ?? 0;
    return [level, arrival.bound === id ? 0 : 1, number];
  }

  idAt(slot: number): string {
    const { whole } = this.world.pools;
    return whole.ids[whole.indexAt(slot)] ?? "";
  }

  #newQueue(worker: number): WaitQueue {
    return new WaitQueue({
      board: this.board,
      endpoints: this.world.endpoints,
      worker,
      callsMax: this.#callsMax,
    });
  }

  #forget(made: WorldCall): void {
    const at = this.waiting.indexOf(made);
    if (at >= 0) this.waiting.splice(at, 1);
  }
}

/** Below 0 if the order `one` comes before `other`. */
export function compareOrders(
  one: readonly number[],
  other: readonly number[],
): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return (one[at] ?? 0) - (other[at] ?? 0);
}
