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
 * An engine reads a prompt before it answers, in proportion to its length. So
 * answers are compared within their *size class*: requests whose bodies differ
 * in size by a factor of two at most, which is as much as fast answers may
 * differ by. A class that is new to an endpoint says nothing in its first
 * round. Only event streams are compared: a whole answer comes when all of it
 * has been generated, which takes as long as its client has asked for.
 *
 * Invariant: a time of 1 ms or more stands for an observation, 0 for none. A
 * time that one thread takes in while another does, or while a round ends, may
 * be lost; the next answer as fast brings it back.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "./endpoint_table.ts";

/** The first class ends below 2 KiB: a few messages, and their JSON. */
const FIRST_CLASS_BITS = 11;

/** Classes by size; the last one begins with 1 MiB, a million tokens or so. */
const SIZED_CLASSES = 11;

/** And one for bodies whose size is not known. */
const CLASSES = SIZED_CLASSES + 1;

/** Words of a class: the minimum of both half-windows. */
const CURRENT = 0;
const FORMER = 1;
/** The fastest and the second fastest answer of the round. */
const FASTEST = 2;
const SECOND = 3;
const CLASS_WORDS = 4;

/** Four cache lines a slot: its classes, and one word more. */
const SLOT_WORDS = 64;
const CLASSES_END = CLASS_WORDS * CLASSES;
/** When the half-window began, in milliseconds modulo 2^32. */
const BEGAN_AT = CLASSES_END;

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

  /**
   * Takes in a time; returns whether the answer was fast.
   *
   * @param requestBytes Size of the request's body, `undefined` if not known.
   */
  note(
    slot: number,
    requestBytes: number | undefined,
    firstByteMs: number,
  ): boolean {
    const timeMs = Math.min(Math.max(Math.round(firstByteMs), 1), TIME_MS_MAX);
    const at = placeOf(slot, requestBytes);
    const second = this.#load(at + SECOND);
    if (second === 0 || timeMs < second) this.#noteQuick(at, timeMs);
    const baselineMs = this.#baselineMs(at);
    return baselineMs === 0 || timeMs <=
        Math.max(FAST_FACTOR * baselineMs, baselineMs + FAST_SLACK_MS);
  }

  /** Learns from the round; for who closes it. */
  learn(slot: number): void {
    this.#forEachClass(slot, (at) => {
      const second = this.#takeSecond(at);
      if (second === 0) return;
      const current = this.#load(at + CURRENT);
      if (current > 0 && current <= second) return;
      this.#store(at + CURRENT, second);
    });
  }

  /** Learns from the round alone: what it has seen is normal from now on. */
  learnAnew(slot: number): void {
    this.#forEachClass(slot, (at) => {
      const second = this.#takeSecond(at);
      if (second === 0) return;
      this.#store(at + CURRENT, second);
      this.#store(at + FORMER, 0);
    });
  }

  /**
   * How many times the baseline the round's answers took, in the class that
   * was delayed least; 0 when that cannot be said.
   */
  slowness(slot: number): number {
    let least = 0;
    this.#forEachClass(slot, (at) => {
      const baselineMs = this.#baselineMs(at);
      const second = this.#load(at + SECOND);
      if (baselineMs === 0 || second === 0) return;
      const slowness = second / baselineMs;
      if (least === 0 || slowness < least) least = slowness;
    });
    return least;
  }

  /** The baseline of requests of that size; 0 when there have been none. */
  baselineMs(slot: number, requestBytes: number | undefined): number {
    return this.#baselineMs(placeOf(slot, requestBytes));
  }

  /**
   * All baselines that there are, by the size in bytes below which bodies of
   * the class are: `Infinity` for the largest, `NaN` for the unknown.
   */
  baselines(slot: number): ReadonlyMap<number, number> {
    const known = new Map<number, number>();
    let sizeClass = 0;
    this.#forEachClass(slot, (at) => {
      const baselineMs = this.#baselineMs(at);
      if (baselineMs > 0) known.set(bytesBelow(sizeClass), baselineMs);
      sizeClass++;
    });
    return known;
  }

  /** Whether the half-window is over. */
  isOver(slot: number, nowMs: number): boolean {
    const ageMs = (nowMs - this.#load(slot * SLOT_WORDS + BEGAN_AT)) >>> 0;
    return ageMs >= HALF_WINDOW_MS && ageMs < 2 ** 32 - CLOCK_SKEW_MS_MAX;
  }

  /**
   * Whether this half-window has seen the minimum of the former one again, in
   * one class at least: a queue in the engine delays all of them.
   */
  isConfirmed(slot: number): boolean {
    let seen = 0;
    let confirmed = 0;
    this.#forEachClass(slot, (at) => {
      const current = this.#load(at + CURRENT);
      const former = this.#load(at + FORMER);
      if (current === 0 || former === 0) return;
      seen++;
      const nearMs = Math.max(
        CONFIRMED_FACTOR * former,
        former + CONFIRMED_SLACK_MS,
      );
      if (current <= nearMs) confirmed++;
    });
    return seen === 0 || confirmed > 0;
  }

  /** Begins a half-window, and forgets the one before the last. */
  turn(slot: number, nowMs: number): void {
    this.#forEachClass(slot, (at) => {
      const current = this.#load(at + CURRENT);
      // Silence does not show that an engine has become slower.
      if (current > 0) this.#store(at + FORMER, current);
      this.#store(at + CURRENT, 0);
    });
    this.#store(slot * SLOT_WORDS + BEGAN_AT, nowMs | 0);
  }

  #forEachClass(slot: number, visit: (at: number) => void): void {
    const begin = slot * SLOT_WORDS;
    for (let word = 0; word < CLASSES_END; word += CLASS_WORDS) {
      visit(begin + word);
    }
  }

  /** Ends the round of a class; 0 for one with an answer at most, which waits. */
  #takeSecond(at: number): number {
    const second = this.#load(at + SECOND);
    if (second === 0) return 0;
    this.#store(at + FASTEST, 0);
    this.#store(at + SECOND, 0);
    return second;
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

function placeOf(slot: number, requestBytes: number | undefined): number {
  return slot * SLOT_WORDS + CLASS_WORDS * sizeClassOf(requestBytes);
}

function sizeClassOf(bytes: number | undefined): number {
  if (bytes === undefined) return CLASSES - 1;
  const bits = 32 - Math.clz32(Math.min(bytes, 2 ** 31));
  return Math.min(Math.max(bits - FIRST_CLASS_BITS, 0), SIZED_CLASSES - 1);
}

/** See `baselines`. */
function bytesBelow(sizeClass: number): number {
  if (sizeClass === CLASSES - 1) return NaN;
  return sizeClass === SIZED_CLASSES - 1
    ? Infinity
    : 2 ** (FIRST_CLASS_BITS + sizeClass);
}
