/**
 * One place for a worker: its thread, if there is one, and what is known of it.
 *
 * Invariant: reports of a thread that has left the seat change nothing.
 *
 * @module
 */
import type { Log } from "../core/outside.ts";
import type { LiveCall } from "../gateway/live_calls.ts";
import {
  HEARTBEAT_MS,
  type WorkerCommand,
  type WorkerReport,
} from "./worker_messages.ts";

/**
 * - `empty`: there is no thread.
 * - `starting`: it has not listened yet.
 * - `serving`: it listens.
 * - `stopped`: it has finished its requests, having been told to.
 * - `hung`: it is silent for too long.
 */
export type SeatState = "empty" | "starting" | "serving" | "stopped" | "hung";

/** Whom a seat tells what happens. */
export interface SeatOwner {
  readonly log: Log;
  /** Starts a thread; its module waits for a `start` command. */
  readonly spawn: () => Worker;
  /** The thread has died; the seat is empty. */
  readonly died: (index: number, reason: string) => void;
  /** Takes lines of the log that the thread has made. */
  readonly lines?: (index: number, lines: string) => void;
  /** The thread tells of its requests under way. */
  readonly live?: (index: number, calls: readonly LiveCall[]) => void;
}

/** Holds one worker at a time. */
export class Seat<Start, Routes> {
  readonly index: number;
  readonly #owner: SeatOwner;
  #worker: Worker | undefined;
  #state: SeatState = "empty";
  /** Heartbeats that did not come, in a row. */
  #silentCount = 0;
  /** Rejects the start that is waited for. */
  #fail: (error: Error) => void = () => {};

  constructor(index: number, owner: SeatOwner) {
    this.index = index;
    this.#owner = owner;
  }

  /** Requests that the thread has broken by stopping. */
  brokenCount = 0;

  get state(): SeatState {
    return this.#state;
  }

  /**
   * Spawns a thread and resolves to its port once it listens.
   *
   * @throws {Error} when it cannot listen, dies or hangs before.
   */
  start(command: WorkerCommand<Start, Routes>): Promise<number> {
    const worker = this.#owner.spawn();
    this.#worker = worker;
    this.#state = "starting";
    this.#silentCount = 0;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#fail = reject;
    worker.onmessage = ({ data }: MessageEvent<WorkerReport>) => {
      if (this.#worker !== worker) return;
      this.#hear(data);
      if (data.kind === "listening") resolve(data.port);
    };
    worker.onerror = (event) => {
      // Else the error would end the main thread too.
      event.preventDefault();
      if (this.#worker === worker) this.#lose(event.message);
    };
    worker.postMessage(command);
    return promise;
  }

  /** Sends a command; nothing happens while the seat is empty. */
  tell(command: WorkerCommand<Start, Routes>): void {
    this.#worker?.postMessage(command);
  }

  /** Ends the thread, if it still turns. */
  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#state = "empty";
  }

  /**
   * Notes that a heartbeat is due.
   *
   * @returns Whether the worker counts as hung from now on, having been silent
   * for `limit` milliseconds in a row.
   */
  countSilence(limit: Readonly<Record<SeatState, number>>): boolean {
    this.#silentCount += 1;
    const ms = this.#silentCount * HEARTBEAT_MS;
    if (ms < limit[this.#state]) return false;
    this.#state = "hung";
    this.#fail(new Error(`Worker ${this.index} is silent for ${ms} ms`));
    return true;
  }

  #hear(report: WorkerReport): void {
    this.#silentCount = 0;
    switch (report.kind) {
      case "listening":
        this.#state = "serving";
        break;
      case "failed":
        this.#lose(report.message);
        break;
      case "stopped":
        this.#state = "stopped";
        this.brokenCount = report.brokenCount;
        break;
      case "log":
        this.#owner.log(report.level, report.event, report.fields);
        break;
      case "live":
        this.#owner.live?.(this.index, report.calls);
        break;
      case "lines":
        this.#owner.lines?.(this.index, report.lines);
        break;
      case "alive":
        break;
    }
  }

  #lose(reason: string): void {
    this.end();
    this.#fail(new Error(reason));
    this.#owner.died(this.index, reason);
  }
}
