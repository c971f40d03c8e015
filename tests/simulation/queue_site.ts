/**
 * Several workers with one queue between them, on a clock of milliseconds:
 * calls come and leave, places come and go, workers die, bells are rung late
 * or never, and everything is looked at after each millisecond.
 *
 * The queues, the board and the endpoint table are the real ones; sockets and
 * threads are left out, so that what a single queue would do is known at every
 * moment (`queue_world.ts`).
 *
 * Invariant: what happens follows from the seed alone, and what is wrong is
 * told once, by the name of its checker.
 *
 * @module
 */
import { takesWork } from "../../src/core/placement/place_keeper.ts";
import { compareOrders, QueueWorld, type WorldCall } from "../queue_world.ts";
import { Chance } from "./chance.ts";
import type { QueueScenario } from "./queue_scenario.ts";

/** How often each worker looks after its queue. */
export const TICK_MS = 50;

/** Milliseconds for which calls may wait. */
export const TIMEOUT_MS = 2_000;

/** Slowest bell, and how long a dead worker goes unnoticed. */
const BELL_MS_MAX = 3;
const DEAD_MS_MAX = 20;

/** A call that holds a place. */
interface Running {
  readonly slot: number;
  readonly worker: number;
  readonly endMs: number;
}

/** The workers and all that waits in them. */
export class QueueSite {
  readonly queues: QueueWorld;
  readonly problems = new Set<string>();
  /** Names of what has happened, so that seeds can be seen to show it all. */
  readonly sights = new Set<string>();
  readonly calls: WorldCall[] = [];
  readonly lost = new Set<WorldCall>();
  readonly left = new Set<WorldCall>();
  readonly chance: Chance;
  readonly scenario: QueueScenario;
  #running: Running[] = [];
  readonly #phases: number[];
  /** When a dead worker is noticed, by worker. */
  readonly #dead = new Map<number, number>();
  readonly #rings: number[];
  readonly #hearsAtMs: number[];
  /** Since when somebody waits for room, by endpoint. */
  readonly #roomSinceMs = new Map<string, number>();
  readonly #before = new Map<string, number>();
  #disturbedAtMs = -Infinity;
  #routesAtMs = -Infinity;

  constructor(seed: number, scenario: QueueScenario) {
    const { endpoints, workerCount } = scenario;
    this.scenario = scenario;
    this.chance = new Chance(seed).fork("queue");
    this.queues = new QueueWorld(endpoints, { workers: workerCount });
    this.queues.onServed = (made) => this.#serve(made);
    this.#phases = this.queues.queues.map(() => this.chance.below(TICK_MS));
    this.#rings = this.queues.queues.map(() => 0);
    this.#hearsAtMs = this.queues.queues.map(() => Infinity);
  }

  get nowMs(): number {
    return this.queues.nowMs;
  }

  get runningCount(): number {
    return this.#running.length;
  }

  /** A worker that lives. */
  worker(): number | undefined {
    const living = this.#phases.flatMap((_, worker) =>
      this.#dead.has(worker) ? [] : [worker]
    );
    return living.length === 0 ? undefined : this.chance.pick(living);
  }

  /** A worker stops in its tracks, and is noticed later. */
  kill(worker: number): void {
    this.sights.add("a worker dies");
    this.#dead.set(worker, this.nowMs + this.chance.below(DEAD_MS_MAX));
  }

  /** The list of endpoints changes, and every worker is told. */
  list(endpoints: QueueScenario["endpoints"]): void {
    this.queues.world.setEndpoints(endpoints);
    this.#routesAtMs = this.#disturbedAtMs = this.nowMs;
    for (const [worker, queue] of this.queues.queues.entries()) {
      if (!this.#dead.has(worker)) queue.reroute(this.nowMs);
    }
  }

  /** A client leaves; false when its worker is dead, or it waits no more. */
  leave(made: WorldCall): boolean {
    if (this.#dead.has(made.arrival.worker ?? 0)) return false;
    if (!this.queues.leave(made)) return false;
    this.left.add(made);
    return true;
  }

  /** One millisecond, of all but what the script does. */
  step(): void {
    const { queues } = this;
    queues.nowMs++;
    this.#bury();
    this.#endServices();
    for (const [worker, queue] of queues.queues.entries()) {
      if (this.#dead.has(worker)) continue;
      if (this.#hearsAtMs[worker] === this.nowMs) queue.collect(this.nowMs);
      if ((this.nowMs + (this.#phases[worker] ?? 0)) % TICK_MS === 0) {
        queue.tick(this.nowMs);
      }
    }
    this.#hear();
    this.#look();
  }

  /** What must be true once nothing waits and nobody is served any more. */
  checkEnd(): void {
    const { board, waiting, world } = this.queues;
    for (const made of waiting) this.#tell("counts", `${made.name} waits`);
    if (board.waitingCount !== 0) this.#tell("counts", "calls are counted");
    for (const { id } of this.scenario.endpoints) {
      const slot = world.slot(id);
      const left = world.endpoints.inFlight(slot);
      if (left !== 0) this.#tell("places", `${left} on ${id} are lost`);
      if (board.best(slot) >= 0) this.#tell("counts", `${id} is wanted`);
    }
    for (const made of this.calls) this.#checkEnds(made);
  }

  #checkEnds(made: WorldCall): void {
    const ends = [
      this.queues.served.filter((name) => name === made.name).length,
      made.gaveUp === undefined ? 0 : 1,
      this.left.has(made) ? 1 : 0,
      this.lost.has(made) ? 1 : 0,
      made.call === undefined ? 1 : 0,
    ].reduce((sum, count) => sum + count, 0);
    if (ends !== 1) this.#tell("once", `${made.name} has ${ends} ends`);
  }

  #serve(made: WorldCall): void {
    const { queues } = this;
    const id = made.servedBy ?? "";
    this.#checkOrder(made, id);
    if (made.arrival.bound !== undefined && made.arrival.bound !== id) {
      this.sights.add("a session is served elsewhere");
    }
    this.#running.push({
      slot: queues.world.slot(id),
      worker: made.arrival.worker ?? 0,
      endMs: this.nowMs + this.chance.between(1, this.scenario.serviceMsMax),
    });
  }

  /**
   * Nobody is passed by for longer than changes with time need to be seen by
   * all workers: one tick.
   */
  #checkOrder(made: WorldCall, id: string): void {
    const { queues } = this;
    const sinceMs = this.nowMs - TICK_MS - 1;
    if (this.#dead.size > 0 || this.#disturbedAtMs >= sinceMs) return;
    for (const other of queues.waiting) {
      if (other === made || other.arrivedAtMs > sinceMs) continue;
      const oldest = Math.min(made.arrivedAtMs, other.arrivedAtMs);
      if (oldest <= this.#routesAtMs) continue;
      if (this.#wasAhead(other, made, { id, sinceMs })) {
        this.#tell("order", `${made.name} passes ${other.name} on ${id}`);
      }
    }
  }

  /** Whether `other` had been, at `sinceMs`, where `made` came to be since. */
  #wasAhead(
    other: WorldCall,
    made: WorldCall,
    { id, sinceMs }: { readonly id: string; readonly sinceMs: number },
  ): boolean {
    const { queues } = this;
    const { nowMs } = queues;
    const order = queues.order(made, id);
    queues.nowMs = sinceMs;
    const wasAhead = queues.wants(other, id) &&
      compareOrders(queues.order(other, id), order) < 0;
    queues.nowMs = nowMs;
    return wasAhead;
  }

  /** Dead workers are noticed, and replaced. */
  #bury(): void {
    for (const [worker, atMs] of [...this.#dead]) {
      if (atMs > this.nowMs) continue;
      const own = this.#running.filter((it) => it.worker === worker);
      this.#running = this.#running.filter((it) => it.worker !== worker);
      const slots = own.map(({ slot }) => slot);
      for (const made of this.queues.replace(worker, slots)) {
        this.lost.add(made);
      }
      this.#dead.delete(worker);
      this.#disturbedAtMs = this.nowMs;
    }
  }

  #endServices(): void {
    const isOver = ({ endMs, worker }: Running) =>
      endMs <= this.nowMs && !this.#dead.has(worker);
    const over = this.#running.filter(isOver);
    this.#running = this.#running.filter((it) => !isOver(it));
    for (const { slot, worker } of over) {
      this.queues.queue(worker).release(slot, this.nowMs);
    }
  }

  /** Bells that were rung are heard soon, where they are heard at all. */
  #hear(): void {
    for (const worker of this.#phases.keys()) {
      const { index, words } = this.queues.board.bell(worker);
      const rings = words[index] ?? 0;
      if (rings === this.#rings[worker]) continue;
      this.#rings[worker] = rings;
      this.sights.add("a place is handed over");
      if (this.scenario.isDeaf) this.sights.add("a bell is not heard");
      else {
        this.#hearsAtMs[worker] = this.nowMs + this.chance.between(
          1,
          BELL_MS_MAX,
        );
      }
    }
  }

  #look(): void {
    const { queues } = this;
    for (const id of queues.world.pools.whole.ids) this.#lookAt(id);
    for (const { slot } of this.#running) {
      const users = this.#running.filter((it) => it.slot === slot).length;
      if (queues.world.endpoints.inFlight(slot) >= users) continue;
      this.#tell("places", "a place is used twice");
    }
    for (const { arrivedAtMs, name, arrival } of queues.waiting) {
      if (this.#dead.has(arrival.worker ?? 0)) continue;
      const waitedMs = this.nowMs - arrivedAtMs;
      if (waitedMs > TIMEOUT_MS + TICK_MS + DEAD_MS_MAX) {
        this.#tell("waits", `${name} has waited for ${waitedMs} ms`);
      }
    }
  }

  #lookAt(id: string): void {
    const { board, world } = this.queues;
    const slot = world.slot(id);
    const { endpoints } = world;
    const [inFlight, limit] = [endpoints.inFlight(slot), endpoints.limit(slot)];
    if (inFlight > Math.max(limit, this.#before.get(id) ?? 0)) {
      this.#tell("places", `${inFlight} on ${id}: at most ${limit}`);
    }
    this.#before.set(id, inFlight);
    const at = { nowMs: this.nowMs, isReserved: false };
    // A busy one may be left alone for the sake of others that are not.
    const hasRoom = !endpoints.isBusy(slot, this.nowMs) &&
      takesWork(endpoints, slot, at) && inFlight < limit;
    const isMissed = hasRoom && this.#dead.size === 0 &&
      this.queues.expected(id) !== undefined;
    const since = isMissed
      ? this.#roomSinceMs.get(id) ?? this.nowMs
      : undefined;
    if (since === undefined) this.#roomSinceMs.delete(id);
    else this.#roomSinceMs.set(id, since);
    if (this.nowMs - (since ?? this.nowMs) > this.#patienceMs()) {
      this.#tell("room", `${id} has room, and ${board.waitingCount} wait`);
    }
  }

  /** A tick, and a bell for each worker in turn; a tick where none is heard. */
  #patienceMs(): number {
    const { isDeaf, workerCount } = this.scenario;
    return TICK_MS + workerCount * (isDeaf ? TICK_MS : BELL_MS_MAX);
  }

  #tell(checker: string, problem: string): void {
    this.problems.add(`${checker}: ${problem} at ${this.nowMs} ms`);
  }
}
