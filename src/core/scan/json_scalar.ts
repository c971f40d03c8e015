/**
 * Reads JSON numbers and the three literal names, in any split
 * (RFC 8259, sections 3 and 6).
 *
 * One table holds the grammar of all of them: a scalar costs one look-up a
 * byte, and a request has several before its messages.
 *
 * Invariant: numbers are never converted. A session id of twenty digits stays
 * what it is, where a double would round it.
 *
 * @module
 */
import type { ValueCapture } from "./value_capture.ts";
import { isBlankCode } from "../bytes.ts";

const COMMA = 0x2c;
const OBJECT_CLOSE = 0x7d;

const DIGITS = "0123456789";
// States of the automaton; the literal names take the numbers from NAMES on.
const BROKEN = 0;
const START = 1;
const MINUS = 2;
const DOT = 3;
const EXPONENT = 4;
const EXPONENT_SIGN = 5;
const ZERO = 6;
const INTEGER = 7;
const FRACTION = 8;
const EXPONENT_DIGITS = 9;
const NAMES = 10;

const NUMBER_EDGES: readonly (readonly [number, string, number])[] = [
  [START, "-", MINUS],
  [START, "0", ZERO],
  [START, "123456789", INTEGER],
  [MINUS, "0", ZERO],
  [MINUS, "123456789", INTEGER],
  [INTEGER, DIGITS, INTEGER],
  [ZERO, ".", DOT],
  [INTEGER, ".", DOT],
  [DOT, DIGITS, FRACTION],
  [FRACTION, DIGITS, FRACTION],
  [ZERO, "eE", EXPONENT],
  [INTEGER, "eE", EXPONENT],
  [FRACTION, "eE", EXPONENT],
  [EXPONENT, "+-", EXPONENT_SIGN],
  [EXPONENT, DIGITS, EXPONENT_DIGITS],
  [EXPONENT_SIGN, DIGITS, EXPONENT_DIGITS],
  [EXPONENT_DIGITS, DIGITS, EXPONENT_DIGITS],
];

/** What a reader has read; `more` until the byte after the scalar is seen. */
export type ScalarKind =
  | "more"
  | "broken"
  | "number"
  | "true"
  | "false"
  | "null";

/** What a scalar is that ends in a state; `broken` where it cannot end. */
const KIND_OF: ScalarKind[] = [];
/** The next state, by state and byte. */
const NEXT = automaton();

/** Reads one scalar of an object member at a time. */
export class ScalarReader {
  readonly #capture: ValueCapture;
  #isWanted = false;
  #state = START;
  #kind: ScalarKind = "more";

  /** @param capture Takes the token of a wanted number. */
  constructor(capture: ValueCapture) {
    this.#capture = capture;
  }

  /** The verdict after the last `push`. */
  get kind(): ScalarKind {
    return this.#kind;
  }

  /** Starts before the first byte. */
  begin(isWanted: boolean): void {
    this.#isWanted = isWanted;
    this.#state = START;
    this.#kind = "more";
  }

  /** Takes bytes up to the one that ends the scalar; returns its index. */
  push(chunk: Uint8Array, at: number): number {
    let state = this.#state;
    let i = at;
    for (; i < chunk.length; i++) {
      const code = chunk[i] ?? 0;
      const next = NEXT[(state << 8) | code] ?? BROKEN;
      if (next === BROKEN) {
        const isEnd = code === COMMA || code === OBJECT_CLOSE ||
          isBlankCode(code);
        this.#kind = isEnd ? KIND_OF[state] ?? "broken" : "broken";
        break;
      }
      state = next;
    }
    this.#state = state;
    const isNumber = state < NAMES;
    if (this.#isWanted && isNumber && i > at) {
      this.#capture.run(chunk.subarray(at, i));
    }
    return i;
  }
}

/** Fills `KIND_OF` and builds the table of next states. */
function automaton(): Uint8Array {
  const edges = [...NUMBER_EDGES];
  KIND_OF[ZERO] = KIND_OF[INTEGER] = "number";
  KIND_OF[FRACTION] = KIND_OF[EXPONENT_DIGITS] = "number";
  let stateCount = NAMES;
  for (const name of ["true", "false", "null"] as const) {
    let from = START;
    for (const letter of name) {
      edges.push([from, letter, stateCount]);
      from = stateCount++;
    }
    KIND_OF[from] = name;
  }
  const next = new Uint8Array(stateCount << 8);
  for (const [from, codes, to] of edges) {
    for (const code of codes) next[(from << 8) | code.charCodeAt(0)] = to;
  }
  return next;
}
