/**
 * What a run comes to, in numbers.
 *
 * Invariant: figures of programs are over those that ended; programs and calls
 * that were shed are counted apart, so that shedding never looks like speed.
 *
 * @module
 */
import type { LiveCall } from "./live_call.ts";
import type { ProgramOutcome } from "./player.ts";

/** The figures of one run; times in milliseconds. */
export interface Figures {
  readonly programs: number;
  readonly calls: number;
  /** Program response time: from its arrival to the end of its last call. */
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Response in relation to that of a program with an engine to itself. */
  readonly slowdown: number;
  /** Jain's index of the slowdowns: 1 when all are alike (Jain, 1984). */
  readonly fairness: number;
  /** Programs that ended, by the seconds from first arrival to last end. */
  readonly programsPerSecond: number;
  /** Share of prompt tokens found in a prefix cache. */
  readonly cacheHits: number;
  /** Longest time from a call's arrival to the start of its own prefill. */
  readonly longestWaitMs: number;
  /** Longest time that a call waited in the gateway. */
  readonly longestQueuedMs: number;
  readonly spills: number;
  /** Programs that did not end, as a call of them waited for too long. */
  readonly shed: number;
}

/** What is known of a run besides its programs and calls. */
export interface RunTotals {
  readonly cacheTokens: { readonly looked: number; readonly found: number };
  readonly spills: number;
}

/** Share of the programs, in order of arrival, that warm caches up. */
const WARM_UP_SHARE = 0.1;

/** Gathers what happens in one run. */
export class Tally {
  readonly #prefillMsPerToken: number;
  readonly #outcomes: ProgramOutcome[] = [];
  #calls = 0;
  #longestWaitMs = 0;
  #longestQueuedMs = 0;
  #lastEndMs = 0;

  constructor(prefillMsPerToken: number) {
    this.#prefillMsPerToken = prefillMsPerToken;
  }

  /** Counts a call that has been answered. */
  addCall(call: LiveCall): void {
    this.#calls++;
    const prefillMs = this.#prefillMsPerToken *
      (call.promptTokens - call.cachedTokens);
    const waitMs = call.firstTokenAtMs - call.arrivedAtMs - prefillMs;
    this.#longestWaitMs = Math.max(this.#longestWaitMs, waitMs);
    const queuedMs = call.startedAtMs - call.arrivedAtMs;
    this.#longestQueuedMs = Math.max(this.#longestQueuedMs, queuedMs);
    this.#lastEndMs = Math.max(this.#lastEndMs, call.endedAtMs);
  }

  /** Counts a program that is over. */
  addProgram(outcome: ProgramOutcome): void {
    this.#outcomes.push(outcome);
  }

  /** The figures of all programs but those that warmed up. */
  figures(totals: RunTotals): Figures {
    const byArrival = this.#outcomes.toSorted((one, other) =>
      one.arrivedAtMs - other.arrivedAtMs
    );
    const measured = byArrival.slice(
      Math.floor(WARM_UP_SHARE * byArrival.length),
    );
    const ended = measured.filter(({ responseMs }) => responseMs >= 0);
    const responses = ended.map(({ responseMs }) => responseMs)
      .toSorted((one, other) => one - other);
    const slowdowns = ended.map(({ idealMs, responseMs }) =>
      responseMs / idealMs
    );
    const spanMs = this.#lastEndMs - (byArrival[0]?.arrivedAtMs ?? 0);
    const { looked, found } = totals.cacheTokens;
    return {
      programs: ended.length,
      calls: this.#calls,
      meanMs: meanOf(responses),
      p50Ms: quantile(responses, 0.5),
      p95Ms: quantile(responses, 0.95),
      p99Ms: quantile(responses, 0.99),
      slowdown: meanOf(slowdowns),
      fairness: jainIndex(slowdowns),
      programsPerSecond: 1_000 * this.#outcomes.length / spanMs,
      cacheHits: looked === 0 ? 0 : found / looked,
      longestWaitMs: this.#longestWaitMs,
      longestQueuedMs: this.#longestQueuedMs,
      spills: totals.spills,
      shed: measured.length - ended.length,
    };
  }
}

/** The value that a share of the sorted values is at most: nearest rank. */
export function quantile(sorted: readonly number[], share: number): number {
  const rank = Math.ceil(share * sorted.length);
  return sorted[Math.max(0, rank - 1)] ?? NaN;
}

/** Jain's fairness index: from 1 over the count, up to 1 when all are alike. */
export function jainIndex(values: readonly number[]): number {
  let sum = 0;
  let squares = 0;
  for (const value of values) {
    sum += value;
    squares += value * value;
  }
  return squares === 0 ? NaN : sum * sum / (values.length * squares);
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
