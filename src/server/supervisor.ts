/**
 * Keeps a fixed number of worker threads serving.
 *
 * Invariant: a worker that dies is replaced, what its requests held is taken
 * back first, and the other workers' requests go on.
 *
 * @module
 */
import type { Clock, Log, LogFields, LogLevel } from "../core/outside.ts";

/** What the main thread tells a worker. */
export type WorkerCommand<Start, Routes> =
  | {
    readonly kind: "start";
    readonly index: number;
    /** The port to listen on; 0 for the first to choose any. */
    readonly port: number;
    readonly start: Start;
    readonly routes: Routes;
  }
  | { readonly kind: "routes"; readonly routes: Routes }
  | { readonly kind: "stop"; readonly deadlineMs: number };

/** What a worker tells the main thread. */
export type WorkerReport =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "stopped" }
  | {
    readonly kind: "log";
    readonly level: LogLevel;
    readonly event: string;
    readonly fields: LogFields;
  };

/** What a supervisor is made of. */
export interface SupervisorParts<Start, Routes> {
  readonly count: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts a thread; its module waits for a `start` command. */
  readonly spawn: () => Worker;
  readonly start: Start;
  readonly routes: () => Routes;
  /** Takes back what a dead worker's requests held. */
  readonly reclaim: (index: number) => void;
}

/** Milliseconds until a dead worker is replaced, doubled up to the maximum. */
const RESTART_MS = 100;
const RESTART_MS_MAX = 5_000;

/** A worker that has served this long has recovered, in milliseconds. */
const RECOVERED_MS = 60_000;

/** One place for a worker. */
interface Seat {
  readonly index: number;
  worker: Worker | undefined;
  startedAtMs: number;
  restartMs: number;
  cancelRestart: (() => void) | undefined;
}

/** Supervises the workers. */
export class Supervisor<Start, Routes> {
  readonly #parts: SupervisorParts<Start, Routes>;
  readonly #seats: Seat[];
  #port = 0;
  #isStopping = false;
  /** Workers replaced since the start. */
  restartCount = 0;

  constructor(parts: SupervisorParts<Start, Routes>) {
    this.#parts = parts;
    this.#seats = Array.from({ length: parts.count }, (_, index) => ({
      index,
      worker: undefined,
      startedAtMs: 0,
      restartMs: RESTART_MS,
      cancelRestart: undefined,
    }));
  }

  /**
   * Starts all workers; resolves to the port once every one listens.
   *
   * @throws {Error} when a worker cannot listen; then none is left running.
   */
  async start(port: number): Promise<number> {
    this.#port = port;
    try {
      // The first settles which port it is, the others share it.
      for (const seat of this.#seats) this.#port = await this.#seat(seat);
    } catch (error) {
      await this.stop(0);
      throw error;
    }
    return this.#port;
  }

  /** Sends new routes to every worker. */
  publish(routes: Routes): void {
    for (const { worker } of this.#seats) {
      worker?.postMessage({ kind: "routes", routes });
    }
  }

  /** Has every worker finish its requests, up to the deadline; ends them. */
  async stop(deadlineMs: number): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#seats.map(async (seat) => {
      seat.cancelRestart?.();
      const { worker } = seat;
      if (worker === undefined) return;
      await this.#stopped(worker, deadlineMs);
      worker.terminate();
      seat.worker = undefined;
    }));
  }

  /** Resolves to the port once the worker of this seat listens. */
  #seat(seat: Seat): Promise<number> {
    const { clock, spawn, start, routes } = this.#parts;
    const worker = spawn();
    seat.worker = worker;
    seat.startedAtMs = clock.nowMs();
    return new Promise((resolve, reject) => {
      worker.onmessage = (event: MessageEvent<WorkerReport>) => {
        const report = event.data;
        if (report.kind === "listening") resolve(report.port);
        else if (report.kind === "failed") reject(new Error(report.message));
        else if (report.kind === "log") {
          this.#parts.log(report.level, report.event, report.fields);
        }
      };
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
        this.#replace(seat, worker, event.message);
      };
      const command: WorkerCommand<Start, Routes> = {
        kind: "start",
        index: seat.index,
        port: this.#port,
        start,
        routes: routes(),
      };
      worker.postMessage(command);
    });
  }

  #replace(seat: Seat, worker: Worker, reason: string): void {
    if (seat.worker !== worker) return;
    const { clock, log, reclaim } = this.#parts;
    worker.terminate();
    seat.worker = undefined;
    reclaim(seat.index);
    if (this.#isStopping) return;
    if (clock.nowMs() - seat.startedAtMs > RECOVERED_MS) {
      seat.restartMs = RESTART_MS;
    }
    log("error", "worker.died", { worker: seat.index, reason });
    seat.cancelRestart = clock.after(seat.restartMs, () => {
      this.restartCount += 1;
      this.#seat(seat).then(
        () => log("info", "worker.replaced", { worker: seat.index }),
        (error) => {
          // One that died has been replaced already by its error event.
          if (seat.worker !== undefined) {
            this.#replace(seat, seat.worker, String(error));
          }
        },
      );
    });
    seat.restartMs = Math.min(seat.restartMs * 2, RESTART_MS_MAX);
  }

  #stopped(worker: Worker, deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      // The worker keeps the deadline itself; this is for one that hangs.
      const cancel = this.#parts.clock.after(deadlineMs + 1_000, resolve);
      worker.addEventListener("message", (event) => {
        if (event.data.kind !== "stopped") return;
        cancel();
        resolve();
      });
      worker.postMessage({ kind: "stop", deadlineMs });
    });
  }
}
