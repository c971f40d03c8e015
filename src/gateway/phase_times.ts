/**
 * How long requests take: in each phase, in the queue, to the first byte,
 * between two pieces of an answer, and in all.
 *
 * The clock ticks in milliseconds, and many phases take microseconds. Such a
 * phase is 0 ms long most of the time and 1 ms when a tick falls into it, in
 * proportion to its length: the sum, and so the mean, is right, though single
 * samples are not, and both values are in the first bucket.
 *
 * Invariant: a request that has ended has one sample of its whole time, and
 * one of each time it was in a phase.
 *
 * @module
 */
import type { CounterLayout } from "../core/counting/counters.ts";
import type { ErrorCode } from "../core/error.ts";
import { Histogram, type HistogramFamily } from "../core/counting/histogram.ts";
import { PHASES } from "./phase.ts";

/**
 * From one tick of the clock to beyond the 300 s of silence that end an answer
 * by default. Steps of 2 to 2.5 tell a fast engine from a slow one, and a
 * quantile read from them is off by no more than that.
 */
const BUCKETS_MS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1_000, 2_000, 5_000, 10_000, 20_000, 50_000],
  ...[100_000, 200_000, 500_000],
];

const PHASE: HistogramFamily = {
  name: "tryst_phase_seconds",
  help: "Time that requests spent in each phase, once for every time in it.",
  label: "phase",
  values: PHASES,
  bucketsMs: BUCKETS_MS,
};

const FIRST_BYTE: HistogramFamily = {
  name: "tryst_first_byte_seconds",
  help: "Time from a request's head to the first byte of the engine's " +
    "answer: of the body where that streams.",
  label: undefined,
  values: [""],
  bucketsMs: BUCKETS_MS,
};

const REQUEST: HistogramFamily = {
  name: "tryst_request_seconds",
  help: "Time from a request's head to its end, however it ended.",
  label: undefined,
  values: [""],
  bucketsMs: BUCKETS_MS,
};

const CHUNK_GAP: HistogramFamily = {
  name: "tryst_chunk_gap_seconds",
  help: "Time between two pieces of a streamed answer as they were handed " +
    "on: of the engine, and of the client where that reads more slowly.",
  label: undefined,
  values: [""],
  bucketsMs: BUCKETS_MS,
};

/** How waiting ends; errors that are not listed are `other`. */
const WAIT_ENDS = ["placed", "queue_timeout", "client_gone", "other"] as const;

const QUEUE_WAIT: HistogramFamily = {
  name: "tryst_queue_wait_seconds",
  help: "Time that requests waited for a place, those that waited at all, " +
    "by how the waiting ended.",
  label: "outcome",
  values: WAIT_ENDS,
  bucketsMs: BUCKETS_MS,
};

/** The families measured. */
export const TIME_FAMILIES: readonly HistogramFamily[] = [
  PHASE,
  FIRST_BYTE,
  CHUNK_GAP,
  QUEUE_WAIT,
  REQUEST,
];

/** One worker's view of these histograms. */
export class PhaseTimes {
  readonly #phase: Histogram;
  readonly #firstByte: Histogram;
  readonly #request: Histogram;
  readonly #chunkGap: Histogram;
  readonly #queueWait: Histogram;

  constructor(layout: CounterLayout, row: Float64Array) {
    const of = (family: HistogramFamily) =>
      new Histogram(family, row, layout.offset(family.name));
    this.#phase = of(PHASE);
    this.#firstByte = of(FIRST_BYTE);
    this.#request = of(REQUEST);
    this.#chunkGap = of(CHUNK_GAP);
    this.#queueWait = of(QUEUE_WAIT);
  }

  /**
   * A request has left a phase that it entered `ms` ago.
   *
   * @param phaseIndex The phase's place in `PHASES`.
   */
  left(phaseIndex: number, ms: number): void {
    this.#phase.add(phaseIndex, ms);
  }

  /** The first byte of an answer has come, `ms` after the request's head. */
  firstByte(ms: number): void {
    this.#firstByte.add(0, ms);
  }

  /** A piece of a streamed answer has come, `ms` after the last one. */
  chunkGap(ms: number): void {
    this.#chunkGap.add(0, ms);
  }

  /** A request has waited for a place, and has one or waits no more. */
  waited(end: "placed" | ErrorCode, ms: number): void {
    const index = WAIT_ENDS.findIndex((listed) => listed === end);
    this.#queueWait.add(index < 0 ? WAIT_ENDS.length - 1 : index, ms);
  }

  /** A request has ended that came `ms` ago. */
  ended(ms: number): void {
    this.#request.add(0, ms);
  }
}
