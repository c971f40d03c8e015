/**
 * One thread of the test that hammers the queue.
 *
 * It is a worker of a gateway without its sockets: calls come, wait, leave and
 * are served, places are given back, and now and then it dies with all that it
 * holds, which is taken back as the supervisor does, and a successor goes on
 * in its row.
 *
 * Invariant: everything it holds it gives back, and it waits no longer than
 * `WAIT_MS` in all; whatever is held or waits when all threads are done is a
 * fault of the queue.
 *
 * @module
 */
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { PlaceKeeper } from "../../src/core/placement/place_keeper.ts";
import { type Pool, Pools } from "../../src/core/placement/pool.ts";
import { buildPools } from "../../src/core/placement/pool_plan.ts";
import { QueueBoard } from "../../src/core/queue/queue_board.ts";
import { WaitQueue } from "../../src/core/queue/wait_queue.ts";
import type { WaitingCall } from "../../src/core/queue/waiting_call.ts";
import { seededRandom } from "../placement_world.ts";
import { answerTasks, type ThreadTask, waitForAll } from "./threads.ts";

/** What a thread is told to do. */
export interface QueueTask extends ThreadTask {
  readonly board: SharedArrayBuffer;
  readonly endpoints: SharedArrayBuffer;
  /** One word: threads that have nothing left to do. */
  readonly done: SharedArrayBuffer;
  readonly rounds: number;
  /** How many endpoints there are, in the first slots. */
  readonly slotCount: number;
  /** How often a thread dies, on average, in rounds; 0 for never. */
  readonly deathOneIn: number;
}

/** What a thread did. */
export interface QueueReport {
  readonly arrived: number;
  readonly served: number;
  readonly left: number;
  /** Calls that waited when their thread died. */
  readonly lost: number;
  readonly deaths: number;
  /** Calls that were granted more than one place, or after they had left. */
  readonly servedWrongly: number;
  /** Times more than its limit was in flight on an endpoint. */
  readonly overLimit: number;
  /** Calls that waited for longer than anything may take. */
  readonly stuck: number;
  /** Calls that only the tick has served, while the thread had else to do. */
  readonly servedByTick: number;
}

/** The safety net of a gateway's worker; here it sleeps for so long at most. */
const TICK_MS = 50;

/** Far longer than calls wait on a machine that is busy. */
const WAIT_MS = 20_000;

/** Just enough for another thread to be run instead. */
const WAY_MS = 0.05;

/** Calls of a thread that wait at once, and places that it keeps. */
const WAITING_MAX = 6;
const HELD_MAX = 3;

const LEVELS = 4;

/** A call, until its end is known. */
interface Entry {
  call: WaitingCall | undefined;
  isOver: boolean;
}

answerTasks((task: QueueTask) => new HammeredWorker(task).run());

/** The worker. */
class HammeredWorker {
  readonly #task: QueueTask;
  readonly #worker: number;
  readonly #board: QueueBoard;
  readonly #endpoints: EndpointTable;
  readonly #keeper: PlaceKeeper;
  readonly #pool: Pool;
  readonly #random: () => number;
  #queue: WaitQueue;
  #entries: Entry[] = [];
  #held: number[] = [];
  #isTicking = false;
  readonly #counts = {
    arrived: 0,
    served: 0,
    left: 0,
    lost: 0,
    deaths: 0,
    servedWrongly: 0,
    overLimit: 0,
    stuck: 0,
    servedByTick: 0,
  };

  constructor(task: QueueTask) {
    this.#task = task;
    this.#worker = task.seed - 1;
    this.#board = new QueueBoard(task.board);
    this.#endpoints = new EndpointTable(task.endpoints);
    this.#keeper = new PlaceKeeper(this.#board, this.#endpoints);
    this.#pool = poolOf(this.#endpoints, task.slotCount);
    this.#random = seededRandom(task.seed * 7_919);
    this.#queue = this.#newQueue();
  }

  run(): QueueReport {
    waitForAll(this.#task);
    for (let round = 0; round < this.#task.rounds; round++) {
      this.#act();
      while (this.#held.length > HELD_MAX) this.#giveBack();
    }
    this.#finish();
    return this.#counts;
  }

  #act(): void {
    const { deathOneIn } = this.#task;
    if (deathOneIn > 0 && this.#below(deathOneIn) === 0) return this.#die();
    switch (this.#below(8)) {
      case 0:
      case 1:
      case 2:
        return this.#arrive();
      case 3:
      case 4:
        return this.#giveBack();
      case 5:
        return this.#leave();
      case 6:
        return this.#queue.collect(0);
      default:
        if (this.#below(16) === 0) this.#queue.tick(0);
    }
  }

  #arrive(): void {
    if (this.#queue.size >= WAITING_MAX) return this.#makeWay();
    this.#counts.arrived++;
    const entry: Entry = { call: undefined, isOver: false };
    this.#entries.push(entry);
    const boundSlot = this.#below(3) - 1;
    entry.call = this.#queue.add({
      pool: this.#pool,
      boundSlot,
      tried: undefined,
      level: this.#below(LEVELS),
      // Time stands still, so that who is patient stays so.
      patienceUntilMs: this.#below(2),
      boostAtMs: Infinity,
      overdueAtMs: Infinity,
      timeoutAtMs: Infinity,
      poolNow: () => this.#pool,
      granted: (slot) => this.#serve(entry, slot),
      gaveUp: () => {},
    }, 0);
  }

  /** Lets another thread run, as one that waits for its places would. */
  #makeWay(): void {
    const { index, words } = this.#board.bell(this.#worker);
    const seen = Atomics.load(words, index);
    this.#queue.collect(0);
    Atomics.wait(words, index, seen, WAY_MS);
    this.#queue.collect(0);
  }

  #serve(entry: Entry, slot: number): void {
    const counts = this.#counts;
    if (entry.isOver) counts.servedWrongly++;
    else if (this.#isTicking) counts.servedByTick++;
    entry.isOver = true;
    counts.served++;
    this.#held.push(slot);
    const limit = this.#endpoints.limit(slot);
    if (this.#endpoints.inFlight(slot) > limit) counts.overLimit++;
  }

  #giveBack(): void {
    const at = this.#below(this.#held.length);
    const slot = this.#held.splice(at, 1)[0];
    if (slot !== undefined) this.#queue.release(slot, 0);
  }

  #leave(): void {
    this.#entries = this.#entries.filter(({ isOver }) => !isOver);
    const entry = this.#entries[this.#below(this.#entries.length)];
    if (entry?.call === undefined || !this.#queue.remove(entry.call)) return;
    entry.isOver = true;
    this.#counts.left++;
  }

  /** What the supervisor does for a dead worker, and then its successor. */
  #die(): void {
    const counts = this.#counts;
    counts.deaths++;
    counts.lost += this.#queue.size;
    for (const entry of this.#entries) entry.isOver = true;
    this.#entries = [];
    this.#board.reclaim(this.#worker, (slot) => this.#keeper.release(slot, 0));
    for (const slot of this.#held.splice(0)) this.#keeper.release(slot, 0);
    this.#queue = this.#newQueue();
    this.#queue.collect(0);
  }

  /** Serves what still waits, and passes on what still comes. */
  #finish(): void {
    const done = new Int32Array(this.#task.done);
    const deadline = Date.now() + WAIT_MS;
    let isDone = false;
    while (Date.now() < deadline) {
      while (this.#held.length > 0) this.#giveBack();
      this.#queue.collect(0);
      if (this.#held.length > 0) continue;
      if (this.#queue.size === 0 && !isDone) {
        isDone = true;
        Atomics.add(done, 0, 1);
      }
      if (Atomics.load(done, 0) === this.#task.threads) break;
      this.#sleep();
    }
    this.#counts.stuck = this.#queue.size;
    this.#queue.collect(0);
  }

  #sleep(): void {
    const { index, words } = this.#board.bell(this.#worker);
    const seen = Atomics.load(words, index);
    this.#queue.collect(0);
    if (this.#held.length > 0) return;
    if (Atomics.wait(words, index, seen, TICK_MS) !== "timed-out") return;
    this.#isTicking = true;
    this.#queue.tick(0);
    this.#isTicking = false;
  }

  #newQueue(): WaitQueue {
    return new WaitQueue({
      board: this.#board,
      endpoints: this.#endpoints,
      worker: this.#worker,
      callsMax: 1_000,
    });
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }
}

function poolOf(endpoints: EndpointTable, count: number): Pool {
  const list = Array.from({ length: count }, (_, slot) => ({
    id: `e${slot}`,
    weight: 1,
    slot,
    generation: 0,
    models: undefined,
  }));
  return new Pools(buildPools(list), endpoints).whole;
}
