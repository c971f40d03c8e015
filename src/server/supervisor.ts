/**
 * Keeps a fixed number of worker threads serving, and ends them.
 *
 * **A worker that dies**, by an error that nobody expected, dies between two
 * turns of its event loop. The runtime closes its sockets: its requests are
 * lost, and nobody else's. What they held is taken back from its ledger and
 * its share of the budgets, and a new worker takes its place on the same port,
 * later and later if it dies again and again.
 *
 * **A worker that hangs**, in a loop without end, is known by its silence. No
 * call ends such a thread: `Worker.terminate()` waits for a turn of its event
 * loop, on Deno 2.7.11 and 2.9.6 alike. Meanwhile its socket goes on taking a
 * share of the new connections, and would do so beside a replacement. So it is
 * reported, once, and whoever owns the supervisor has to end the process: the
 * other workers finish, and whatever started the process starts it anew.
 *
 * **What ending a thread costs.** As `terminate()` acts between two turns, it
 * never cuts a placement in the middle, and reclaiming a ledger is exact. Places
 * in flight are not counted anew from the ledgers of the living, for a thread
 * takes a place and notes it in two steps: at no moment must the sum be right,
 * and storing one would undo what has been taken since it was read.
 *
 * Invariant: a worker that dies is replaced, what its requests held is taken
 * back first, and the other workers' requests go on. Stopping ends soon after its
 * deadline, whatever the workers do.
 *
 * @module
 */
import type { Clock } from "../core/outside.ts";
import { Seat, type SeatOwner, type SeatState } from "./seat.ts";
import { HEARTBEAT_MS } from "./worker_messages.ts";

/**
 * Silence after which a worker hangs: 15 s. The longest that a worker computes
 * in one turn is the scan of one read of a body, which takes milliseconds; the
 * rest is for a machine that is short of processors.
 */
export const WORKER_SILENT_MS = 15_000;

/** What a supervisor is made of. */
export interface SupervisorParts<Start, Routes>
  extends Omit<SeatOwner, "died"> {
  readonly count: number;
  readonly clock: Clock;
  /** What workers are started with, until `reload` says otherwise. */
  readonly start: Start;
  readonly routes: () => Routes;
  /** Requests that a worker has not finished, by its index. */
  readonly openCount: (index: number) => number;
  /** Takes back what a dead worker's requests held. */
  readonly reclaim: (index: number) => void;
  /** A worker hangs, against which only the process's end helps. */
  readonly hung: (index: number) => void;
  /** `WORKER_SILENT_MS`, but for tests. */
  readonly silentMs: number;
}

/** Milliseconds until a dead worker is replaced, doubled up to the maximum. */
const RESTART_MS = 100;
const RESTART_MS_MAX = 5_000;

/** A worker that has served this long has recovered, in milliseconds. */
const RECOVERED_MS = 60_000;

/** 60 s: compiling the modules takes some seconds on a busy machine. */
const START_MS_MAX = 60_000;

/** Milliseconds between two looks at what is still open when stopping. */
const LOOK_MS = 20;

/**
 * When nothing is open, workers that have not stopped have connections only
 * that are no requests: 1 s is for the last bytes of answers on their way.
 */
const LAST_BYTES_MS = 1_000;

/**
 * What the deadline cuts is told so, and gets 300 ms more: enough to write an
 * error for each, and little beside any deadline.
 */
const FAREWELL_MS = 300;

/** A seat and when it is filled again. */
interface Post<Start, Routes> {
  readonly seat: Seat<Start, Routes>;
  startedAtMs: number;
  restartMs: number;
  cancelRestart: () => void;
}

/** Supervises the workers. */
export class Supervisor<Start, Routes> {
  readonly #parts: SupervisorParts<Start, Routes>;
  readonly #posts: Post<Start, Routes>[];
  readonly #silence: Readonly<Record<SeatState, number>>;
  readonly #ended = Promise.withResolvers<number>();
  #start: Start;
  #port = 0;
  #isStopping = false;
  /** Requests told to give up; -1 before there were any. */
  #givenUpCount = -1;
  #cancelTick: () => void = () => {};
  #cancelLook: () => void = () => {};
  /** Workers replaced since the start. */
  restartCount = 0;

  constructor(parts: SupervisorParts<Start, Routes>) {
    const { count, silentMs, start } = parts;
    this.#parts = parts;
    this.#start = start;
    const died = (index: number, reason: string) => this.#died(index, reason);
    this.#posts = Array.from({ length: count }, (_, index) => ({
      seat: new Seat(index, { ...parts, died }),
      startedAtMs: 0,
      restartMs: RESTART_MS,
      cancelRestart: () => {},
    }));
    this.#silence = {
      empty: Infinity,
      starting: START_MS_MAX,
      serving: silentMs,
      stopped: Infinity,
      hung: Infinity,
    };
  }

  /** Workers that listen and are not known to hang. */
  get servingCount(): number {
    return this.#posts.filter(({ seat }) => seat.state === "serving").length;
  }

  /**
   * Starts all workers; resolves to the port once every one listens.
   *
   * @throws {Error} when a worker cannot listen; then none is left running.
   */
  async start(port: number): Promise<number> {
    this.#port = port;
    this.#tick();
    try {
      // The first settles which port it is, the others share it.
      for (const post of this.#posts) this.#port = await this.#fill(post);
    } catch (error) {
      this.cut();
      throw error;
    }
    return this.#port;
  }

  /** Sends new routes to every worker. */
  publish(routes: Routes): void {
    for (const { seat } of this.#posts) seat.tell({ kind: "routes", routes });
  }

  /**
   * Has every worker go on with another start and its routes, which reach it
   * in one message. Workers started from now on begin with it.
   */
  reload(start: Start, routes: Routes): void {
    this.#start = start;
    for (const { seat } of this.#posts) {
      seat.tell({ kind: "reload", start, routes });
    }
  }

  /** Has every worker tell of its requests under way for some seconds. */
  watch(): void {
    for (const { seat } of this.#posts) seat.tell({ kind: "watch" });
  }

  /** Has each answer end its connection, so that clients go elsewhere. */
  leave(): void {
    for (const { seat } of this.#posts) seat.tell({ kind: "leave" });
  }

  /**
   * Has every worker finish its requests, up to the deadline, and ends them.
   *
   * @returns How many requests were cut; 0 when all of them finished.
   */
  stop(deadlineMs: number): Promise<number> {
    if (!this.#isStopping) {
      this.#beginStopping();
      for (const { seat } of this.#posts) seat.tell({ kind: "stop" });
      this.#look(this.#parts.clock.nowMs() + deadlineMs);
    }
    return this.#ended.promise;
  }

  /** Ends every worker at once; whoever waits for `stop` goes on. */
  cut(): void {
    this.#beginStopping();
    this.#cancelLook();
    const openCount = this.#openCount(() => true);
    const cutCount = Math.max(openCount, this.#givenUpCount);
    this.#ended.resolve(cutCount + this.#brokenCount());
    for (const { seat } of this.#posts) seat.end();
  }

  #beginStopping(): void {
    this.#isStopping = true;
    this.#cancelTick();
    for (const post of this.#posts) post.cancelRestart();
  }

  /** Looks until every request has ended, or there is no more time. */
  #look(deadlineAtMs: number, idleFromMs?: number): void {
    const { clock } = this.#parts;
    const nowMs = clock.nowMs();
    // What a hanging worker holds is not waited for.
    const isIdle = this.#openCount((seat) => seat.state !== "hung") === 0;
    const idleSinceMs = isIdle ? idleFromMs ?? nowMs : undefined;
    const isOver = idleSinceMs !== undefined &&
      (this.#haveStopped() || nowMs - idleSinceMs >= LAST_BYTES_MS);
    const cutAtMs = isIdle ? deadlineAtMs : deadlineAtMs + FAREWELL_MS;
    if (isOver || nowMs >= cutAtMs) {
      this.cut();
      return;
    }
    if (this.#givenUpCount < 0 && nowMs >= deadlineAtMs) {
      this.#givenUpCount = this.#openCount(() => true);
      for (const { seat } of this.#posts) seat.tell({ kind: "give_up" });
    }
    const nextAtMs = nowMs < deadlineAtMs ? deadlineAtMs : cutAtMs;
    this.#cancelLook = clock.after(
      Math.min(LOOK_MS, nextAtMs - nowMs),
      () => this.#look(deadlineAtMs, idleSinceMs),
    );
  }

  #haveStopped(): boolean {
    return this.#posts.every(({ seat }) =>
      seat.state !== "serving" && seat.state !== "starting"
    );
  }

  #openCount(counts: (seat: Seat<Start, Routes>) => boolean): number {
    let sum = 0;
    for (const { seat } of this.#posts) {
      if (counts(seat)) sum += this.#parts.openCount(seat.index);
    }
    return sum;
  }

  #brokenCount(): number {
    return this.#posts.reduce((sum, { seat }) => sum + seat.brokenCount, 0);
  }

  /** Resolves to the port once a new worker listens. */
  #fill(post: Post<Start, Routes>): Promise<number> {
    const { clock, routes } = this.#parts;
    post.startedAtMs = clock.nowMs();
    return post.seat.start({
      kind: "start",
      index: post.seat.index,
      port: this.#port,
      start: this.#start,
      routes: routes(),
    });
  }

  #died(index: number, reason: string): void {
    const { clock, log, reclaim } = this.#parts;
    reclaim(index);
    log("error", "worker.died", { worker: index, reason });
    const post = this.#posts[index];
    if (post === undefined || this.#isStopping) return;
    if (clock.nowMs() - post.startedAtMs > RECOVERED_MS) {
      post.restartMs = RESTART_MS;
    }
    post.cancelRestart = clock.after(post.restartMs, () => this.#refill(post));
    post.restartMs = Math.min(post.restartMs * 2, RESTART_MS_MAX);
  }

  async #refill(post: Post<Start, Routes>): Promise<void> {
    this.restartCount += 1;
    try {
      await this.#fill(post);
      this.#parts.log("info", "worker.replaced", { worker: post.seat.index });
    } catch {
      // It has died or hangs, which has been seen to where it was noticed.
    }
  }

  /**
   * Counts heartbeats that did not come, by turns of the main thread's own
   * clock: a process that was stopped as a whole, or a machine that slept,
   * makes no worker hang.
   */
  #tick(): void {
    this.#cancelTick = this.#parts.clock.after(HEARTBEAT_MS, () => {
      this.#tick();
      for (const { seat } of this.#posts) {
        if (!seat.countSilence(this.#silence)) continue;
        this.#parts.log("error", "worker.hung", { worker: seat.index });
        this.#parts.hung(seat.index);
      }
    });
  }
}
