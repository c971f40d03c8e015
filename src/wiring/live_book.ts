/**
 * The requests under way on all workers, while somebody looks.
 *
 * Only workers know them, and telling costs them a walk over all their calls.
 * So they are asked when somebody looks, go on telling for some seconds, and
 * stop by themselves.
 *
 * Invariant: a look never waits for longer than `ANSWER_MS`, whatever workers
 * do, and what is shown of one is no older than `FRESH_MS`.
 *
 * @module
 */
import type { LiveRequest } from "../admin/status.ts";
import type { Clock } from "../core/outside.ts";
import type { LiveCall } from "../gateway/live_calls.ts";

/** What is told of requests under way, and for how long. */
export const LIVE = {
  /** Most requests that are shown, and that one worker tells of. */
  countMax: 50,
  /** Milliseconds for which a worker goes on telling, once asked. */
  watchMs: 5_000,
  /** Milliseconds between two reports of a worker that is watched. */
  reportMs: 1_000,
} as const;

/** Workers are asked anew well before they stop telling. */
const ASK_MS = LIVE.watchMs / 2;

/** A report may be late by another one, on a busy machine. */
const FRESH_MS = 2.5 * LIVE.reportMs;

/** The first look waits for reports; a busy worker may miss it. */
const ANSWER_MS = 50;

/** What a book is made of. */
export interface LiveBookParts {
  readonly clock: Clock;
  readonly workerCount: number;
  /** Has every worker report now and for the next `LIVE.watchMs`. */
  readonly watch: () => void;
}

/** A worker's last report. */
interface Report {
  readonly calls: readonly LiveCall[];
  readonly atMs: number;
}

/** Keeps the last report of each worker. */
export class LiveBook {
  readonly #parts: LiveBookParts;
  readonly #reports: (Report | undefined)[];
  #askedAtMs = -Infinity;
  /** The looks that wait for reports, as one. */
  #waiting: PromiseWithResolvers<void> | undefined;
  #cancel: () => void = () => {};

  constructor(parts: LiveBookParts) {
    this.#parts = parts;
    this.#reports = new Array(parts.workerCount).fill(undefined);
  }

  /** Takes the report of a worker. */
  report(worker: number, calls: readonly LiveCall[]): void {
    if (worker >= this.#reports.length) return;
    this.#reports[worker] = { calls, atMs: this.#parts.clock.nowMs() };
    if (this.#isFresh()) this.#endWait();
  }

  /** The oldest requests of all workers, the oldest first. */
  async look(): Promise<LiveRequest[]> {
    const { clock, watch } = this.#parts;
    if (clock.nowMs() - this.#askedAtMs >= ASK_MS) {
      this.#askedAtMs = clock.nowMs();
      watch();
    }
    if (!this.#isFresh()) await this.#wait();
    const nowMs = clock.nowMs();
    return this.#reports
      .flatMap((report, worker) => this.#shown(report, worker, nowMs))
      .sort((one, other) => other.ageMs - one.ageMs)
      .slice(0, LIVE.countMax);
  }

  /** Has nobody wait any more. */
  close(): void {
    this.#endWait();
  }

  #shown(
    report: Report | undefined,
    worker: number,
    nowMs: number,
  ): LiveRequest[] {
    if (report === undefined || nowMs - report.atMs >= FRESH_MS) return [];
    const sinceMs = Math.round(nowMs - report.atMs);
    return report.calls.map((call) => {
      const shown = liveRequest(call, worker);
      return { ...shown, ageMs: shown.ageMs + sinceMs };
    });
  }

  #isFresh(): boolean {
    const sinceMs = this.#parts.clock.nowMs() - FRESH_MS;
    return this.#reports.every((report) =>
      report !== undefined && report.atMs > sinceMs
    );
  }

  #wait(): Promise<void> {
    if (this.#waiting === undefined) {
      this.#waiting = Promise.withResolvers<void>();
      this.#cancel = this.#parts.clock.after(ANSWER_MS, () => this.#endWait());
    }
    return this.#waiting.promise;
  }

  #endWait(): void {
    this.#cancel();
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}

/** A call of a worker as the status shows it. */
export function liveRequest(call: LiveCall, worker: number): LiveRequest {
  const { endpoint, session } = call;
  return {
    ...call,
    endpoint: endpoint ?? null,
    session: session ?? null,
    worker,
  };
}
