/**
 * How fast an endpoint answers when nothing waits inside it: the smallest time
 * to first byte of the last minutes, shared by all threads.
 *
 * What counts of a round of answers is the second fastest: an answer that is
 * much faster than all others, such as a monitor's to a prompt of one word,
 * would make all others look slow as long as it is remembered.
 *
 * The time is a windowed minimum over two half-windows, so that an engine that
 * has become slower for good is believed after a while. A minimum alone would
 * drift: when short answers let the limit rise so far that even a cut limit
 * keeps the engine's queue filled, the window would forget the empty engine
 * and take the queue for normal, again and again. So a half-window that has
 * seen nothing near the older minimum is *unconfirmed*, and is to end only
 * after a look at the engine with less load.
 *
 * Event streams and whole answers are kept apart: the head of a whole answer
 * comes when all of it has been generated.
 *
 * Invariant: a time of 1 ms or more stands for an observation, 0 for none. A
 * time that one thread takes in while another does, or while a round ends, may
 * be lost; the next answer as fast brings it back.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "./endpoint_table.ts";

/** What an answer is: an event stream, or one that comes as a whole. */
export type AnswerKind = "stream" | "whole";

/** One cache line a slot. */
const SLOT_WORDS = 16;

/** Words of a kind: the minimum of both half-windows. */
const CURRENT = 0;
const FORMER = 1;
/** The fastest and the second fastest answer of the round. */
const FASTEST = 2;
const SECOND = 3;

/** Words of a slot: where each kind begins. */
const STREAM = 0;
const WHOLE = 4;
const KINDS = [STREAM, WHOLE] as const;
/** When the half-window began, in milliseconds modulo 2^32. */
const BEGAN_AT = 8;

/** Long enough for quiet minutes to come by, short enough to adapt. */
const HALF_WINDOW_MS = 300_000;

/** What clocks of threads may differ by: age modulo 2^32 is then not age. */
const CLOCK_SKEW_MS_MAX = 60_000;

/**
 * Fast is up to twice the baseline, and up to 100 ms over it: below that the
 * scheduling of an engine's steps is seen, not its queue.
 */
const FAST_FACTOR = 2;
const FAST_SLACK_MS = 100;

/** Near the former minimum, in the same two ways, a quarter as wide. */
const CONFIRMED_FACTOR = 1.25;
const CONFIRMED_SLACK_MS = 25;

/** The longest time kept, some days: it fits a word twice over. */
const TIME_MS_MAX = 2 ** 29;

/** The baselines of all endpoints. */
export class FirstByteBaselines {
  /** Size of the shared buffer. */
  static readonly BYTES = 4 * SLOT_WORDS * ENDPOINTS_MAX;

  readonly #words: Int32Array;

  /** @param buffer Of `BYTES`, shared by all threads. */
  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** Forgets everything about the slot's endpoint. */
  reset(slot: number): void {
    const at = slot * SLOT_WORDS;
    this.#words.fill(0, at, at + SLOT_WORDS);
  }

  /** Takes in a time; returns whether the answer was fast. */
  note(slot: number, kind: AnswerKind, firstByteMs: number): boolean {
    const timeMs = Math.min(Math.max(Math.round(firstByteMs), 1), TIME_MS_MAX);
    const at = placeOf(slot, kind);
    const second = this.#load(at + SECOND);
    if (second === 0 || timeMs < second) this.#noteQuick(at, timeMs);
    const baselineMs = this.#baselineMs(at);
    return baselineMs === 0 || timeMs <=
        Math.max(FAST_FACTOR * baselineMs, baselineMs + FAST_SLACK_MS);
  }

  /** Learns from the round; for who closes it. */
  learn(slot: number): void {
    for (const kind of KINDS) {
      const at = slot * SLOT_WORDS + kind;
      const second = this.#load(at + SECOND);
      // A kind with one answer waits for another.
      if (second === 0) continue;
      this.#store(at + FASTEST, 0);
      this.#store(at + SECOND, 0);
      const current = this.#load(at + CURRENT);
      if (current > 0 && current <= second) continue;
      this.#store(at + CURRENT, second);
    }
  }

  /** The baseline; 0 when there has been none of the kind. */
  baselineMs(slot: number, kind: AnswerKind): number {
    return this.#baselineMs(placeOf(slot, kind));
  }

  /** Whether the half-window is over. */
  isOver(slot: number, nowMs: number): boolean {
    const ageMs = (nowMs - this.#load(slot * SLOT_WORDS + BEGAN_AT)) >>> 0;
    return ageMs >= HALF_WINDOW_MS && ageMs < 2 ** 32 - CLOCK_SKEW_MS_MAX;
  }

  /** Whether this half-window has seen the minimum of the former one again. */
  isConfirmed(slot: number): boolean {
    return KINDS.every((kind) => {
      const current = this.#load(slot * SLOT_WORDS + kind + CURRENT);
      const former = this.#load(slot * SLOT_WORDS + kind + FORMER);
      if (current === 0 || former === 0) return true;
      return current <=
        Math.max(CONFIRMED_FACTOR * former, former + CONFIRMED_SLACK_MS);
    });
  }

  /** Begins a half-window, and forgets the one before the last. */
  turn(slot: number, nowMs: number): void {
    for (const kind of KINDS) {
      const at = slot * SLOT_WORDS + kind;
      const current = this.#load(at + CURRENT);
      // Silence does not show that an engine has become slower.
      if (current > 0) this.#store(at + FORMER, current);
      this.#store(at + CURRENT, 0);
    }
    this.#store(slot * SLOT_WORDS + BEGAN_AT, nowMs | 0);
  }

  /** Takes in a time below the second fastest. */
  #noteQuick(at: number, timeMs: number): void {
    const fastest = this.#load(at + FASTEST);
    if (fastest === 0 || timeMs < fastest) {
      this.#store(at + SECOND, fastest);
      this.#store(at + FASTEST, timeMs);
    } else this.#store(at + SECOND, timeMs);
  }

  #baselineMs(at: number): number {
    const current = this.#load(at + CURRENT);
    const former = this.#load(at + FORMER);
    return former === 0 || (current > 0 && current < former) ? current : former;
  }

  #store(at: number, value: number): void {
    Atomics.store(this.#words, at, value);
  }

  /**
   * A plain read, as most of this runs for each answer and `Atomics.load` is a
   * call: words do not tear, and an old minimum is none the worse for it.
   */
  #load(at: number): number {
    return this.#words[at] ?? 0;
  }
}

function placeOf(slot: number, kind: AnswerKind): number {
  return slot * SLOT_WORDS + (kind === "stream" ? STREAM : WHOLE);
}
