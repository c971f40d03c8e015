/**
 * Decodes JSON strings (RFC 8259, section 7) to bytes, in any split.
 *
 * Only names and wanted values come here; `json_skip.ts` jumps over the rest.
 *
 * Invariant: however a string is spelled, with escapes or without, the same
 * characters give the same bytes.
 *
 * @module
 */
import type { ValueCapture } from "./value_capture.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SMALL_U = 0x75;
const SPACE = 0x20;

/** Where a decoder stands. */
type Mode = "plain" | "escape" | "hex" | "closed" | "broken";

/**
 * Decodes one string at a time into a bounded buffer.
 *
 * Surrogate pairs become one UTF-8 sequence. A surrogate that stands alone
 * becomes the three bytes that its number would have (as in WTF-8), so that
 * it still differs from every other. Bytes that are not UTF-8 are kept.
 */
export class StringDecoder {
  readonly #capture: ValueCapture;
  #mode: Mode = "plain";
  /** A high surrogate that waits for its low one, or 0. */
  #high = 0;
  #unit = 0;
  #digitCount = 0;

  /** @param capture Takes the decoded bytes of one string at a time. */
  constructor(capture: ValueCapture) {
    this.#capture = capture;
  }

  /** The state after the last `push`; `broken` for what is no JSON string. */
  get mode(): Mode {
    return this.#mode;
  }

  /** Starts a string, after its opening quote. */
  begin(): void {
    this.#mode = "plain";
    this.#high = 0;
  }

  /** Takes bytes from `at` on; returns the index of the first not taken. */
  push(chunk: Uint8Array, at: number): number {
    let i = at;
    while (i < chunk.length) {
      if (this.#mode === "plain") i = this.#plain(chunk, i);
      else if (this.#mode === "escape") this.#escape(chunk[i++] ?? 0);
      else if (this.#mode === "hex") this.#hex(chunk[i++] ?? 0);
      else break;
    }
    return i;
  }

  #plain(chunk: Uint8Array, from: number): number {
    const i = plainEnd(chunk, from, chunk.length);
    if (i > from) {
      this.#settleHigh();
      this.#capture.run(chunk.subarray(from, i));
    }
    if (i === chunk.length) return i;
    const code = chunk[i];
    if (code === BACKSLASH) {
      this.#mode = "escape";
    } else if (code === QUOTE) {
      this.#settleHigh();
      this.#mode = "closed";
    } else {
      this.#mode = "broken";
    }
    return i + 1;
  }

  #escape(code: number): void {
    if (code === SMALL_U) {
      this.#mode = "hex";
      this.#unit = 0;
      this.#digitCount = 0;
      return;
    }
    const plain = unescaped(code);
    if (plain < 0) {
      this.#mode = "broken";
      return;
    }
    this.#settleHigh();
    this.#capture.byte(plain);
    this.#mode = "plain";
  }

  #hex(code: number): void {
    const digit = hexDigit(code);
    if (digit < 0) {
      this.#mode = "broken";
      return;
    }
    this.#unit = (this.#unit << 4) | digit;
    if (++this.#digitCount < 4) return;
    this.#mode = "plain";
    this.#codeUnit(this.#unit);
  }

  #codeUnit(unit: number): void {
    const isLow = unit >= 0xdc00 && unit <= 0xdfff;
    if (this.#high !== 0 && isLow) {
      const point = 0x10000 + ((this.#high - 0xd800) << 10) + unit - 0xdc00;
      this.#high = 0;
      this.#utf8(point);
      return;
    }
    this.#settleHigh();
    if (unit >= 0xd800 && unit <= 0xdbff) this.#high = unit;
    else this.#utf8(unit);
  }

  /** Writes a high surrogate that turned out to stand alone. */
  #settleHigh(): void {
    if (this.#high === 0) return;
    this.#utf8(this.#high);
    this.#high = 0;
  }

  #utf8(point: number): void {
    const capture = this.#capture;
    if (point < 0x80) {
      capture.byte(point);
      return;
    }
    if (point < 0x800) {
      capture.byte(0xc0 | (point >> 6));
    } else {
      if (point < 0x10000) {
        capture.byte(0xe0 | (point >> 12));
      } else {
        capture.byte(0xf0 | (point >> 18));
        capture.byte(0x80 | ((point >> 12) & 0x3f));
      }
      capture.byte(0x80 | ((point >> 6) & 0x3f));
    }
    capture.byte(0x80 | (point & 0x3f));
  }
}

/** Index of the first quote, backslash or control in `[from, to)`, or `to`. */
export function plainEnd(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) {
    const code = bytes[at] ?? 0;
    if (code === QUOTE || code === BACKSLASH || code < SPACE) return at;
  }
  return to;
}

/** The byte that a backslash and `code` stand for, or -1. */
function unescaped(code: number): number {
  switch (code) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // A slash.
      return code;
    case 0x62: // "b"
      return 0x08;
    case 0x66: // "f"
      return 0x0c;
    case 0x6e: // "n"
      return 0x0a;
    case 0x72: // "r"
      return 0x0d;
    case 0x74: // "t"
      return 0x09;
    default:
      return -1;
  }
}

/** The number of a hexadecimal digit, or -1. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
