/**
 * Reads JSON numbers and the three literal names, in any split
 * (RFC 8259, sections 3 and 6).
 *
 * Invariant: numbers are never converted. A session id of twenty digits stays
 * what it is, where a double would round it.
 *
 * @module
 */
import { isBlankCode } from "./bytes.ts";
import type { ValueCapture } from "./value_capture.ts";

const COMMA = 0x2c;
const OBJECT_CLOSE = 0x7d;
const ZERO_DIGIT = 0x30;
const NINE_DIGIT = 0x39;

// Where in a number the reader is; a number may end from ZERO on.
const START = 0;
const MINUS = 1;
const DOT = 2;
const EXPONENT = 3;
const EXPONENT_SIGN = 4;
const ZERO = 5;
const INTEGER = 6;
const FRACTION = 7;
const EXPONENT_DIGITS = 8;
const BROKEN = -1;

/** The names that are values (RFC 8259, section 3). */
type Literal = "true" | "false" | "null";

/** What a reader has read; `more` until the byte after the scalar is seen. */
export type ScalarKind = "more" | "broken" | "number" | Literal;

/** Reads one scalar of an object member at a time. */
export class ScalarReader {
  readonly #capture: ValueCapture;
  #kind: ScalarKind = "more";
  #isWanted = false;
  #literal: Literal | undefined;
  #count = 0;
  #number = START;

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
    this.#kind = "more";
    this.#isWanted = isWanted;
    this.#literal = undefined;
    this.#count = 0;
    this.#number = START;
  }

  /** Takes bytes up to the one that ends the scalar; returns its index. */
  push(chunk: Uint8Array, at: number): number {
    let i = at;
    for (; i < chunk.length; i++) {
      const code = chunk[i] ?? 0;
      if (code === COMMA || code === OBJECT_CLOSE || isBlankCode(code)) {
        this.#kind = this.#verdict();
        return i;
      }
      if (!this.#take(code)) {
        this.#kind = "broken";
        return i;
      }
    }
    return i;
  }

  #verdict(): ScalarKind {
    if (this.#literal === undefined) {
      return this.#number >= ZERO ? "number" : "broken";
    }
    const isWhole = this.#count === this.#literal.length;
    return isWhole ? this.#literal : "broken";
  }

  #take(code: number): boolean {
    if (this.#count === 0) this.#literal = literalOf(code);
    const at = this.#count++;
    if (this.#literal !== undefined) {
      return this.#literal.charCodeAt(at) === code;
    }
    this.#number = numberStep(this.#number, code);
    if (this.#number === BROKEN) return false;
    if (this.#isWanted) this.#capture.byte(code);
    return true;
  }
}

/** The literal name that begins with `code`, if one does. */
function literalOf(code: number): Literal | undefined {
  if (code === 0x74) return "true";
  if (code === 0x66) return "false";
  return code === 0x6e ? "null" : undefined;
}

function numberStep(state: number, code: number): number {
  if (code >= ZERO_DIGIT && code <= NINE_DIGIT) return digitStep(state, code);
  switch (code) {
    case 0x2d: // "-"
      if (state === START) return MINUS;
      return state === EXPONENT ? EXPONENT_SIGN : BROKEN;
    case 0x2b: // "+"
      return state === EXPONENT ? EXPONENT_SIGN : BROKEN;
    case 0x2e: // "."
      return state === ZERO || state === INTEGER ? DOT : BROKEN;
    case 0x45: // "E"
    case 0x65: // "e"
      return state >= ZERO && state <= FRACTION ? EXPONENT : BROKEN;
    default:
      return BROKEN;
  }
}

function digitStep(state: number, code: number): number {
  switch (state) {
    case START:
    case MINUS:
      return code === ZERO_DIGIT ? ZERO : INTEGER;
    case ZERO:
      return BROKEN;
    case DOT:
      return FRACTION;
    case EXPONENT:
    case EXPONENT_SIGN:
      return EXPONENT_DIGITS;
    default:
      return state;
  }
}
