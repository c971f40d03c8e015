/**
 * Jumps over JSON values without decoding them.
 *
 * Most bytes of a request are prompt text or images in base64, which nobody
 * needs to look at: the runtime's own search finds the closing quote. Inside
 * a skipped array or object only strings and the number of open brackets are
 * followed, not the kind of brackets.
 *
 * Invariant: state is two numbers however deep the nesting, and time is linear
 * in the bytes whatever they are.
 *
 * @module
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const CURLY_OPEN = 0x7b;
const CURLY_CLOSE = 0x7d;
/** Bit that turns square brackets into curly ones; changes no other byte. */
const CURLY_BIT = 0x20;

/**
 * Bytes of a string that are looked at one by one before the native search is
 * called: calling it costs as much as looking at some thirty bytes.
 */
const STEP_BYTES = 32;

/** The string goes on in the next chunk. */
const STRING_OPEN = -1;
/** The same, and the next byte is escaped by a backslash. */
const STRING_OPEN_ESCAPED = -2;

/** Skips one value at a time. */
export class ValueSkipper {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  /** Whether the value is behind. */
  get isDone(): boolean {
    return this.#depth === 0 && !this.#isInString;
  }

  /** Starts after the quote that opens a string. */
  beginString(): void {
    this.#isInString = true;
  }

  /** Starts after the bracket that opens an array or an object. */
  beginBrackets(): void {
    this.#depth = 1;
  }

  /** Takes bytes from `at` on; returns the index of the first not taken. */
  push(chunk: Uint8Array, at: number): number {
    let i = at;
    if (this.#isInString) {
      i = this.#string(chunk, this.#isEscaped ? i + 1 : i);
      if (this.#isInString) return i;
    }
    let depth = this.#depth;
    while (depth > 0 && i < chunk.length) {
      const code = chunk[i++] ?? 0;
      if (code === QUOTE) {
        const end = stringEnd(chunk, i);
        if (end < 0) {
          this.#isInString = true;
          this.#isEscaped = end === STRING_OPEN_ESCAPED;
          i = chunk.length;
        } else {
          i = end;
        }
      } else {
        const curly = code | CURLY_BIT;
        if (curly === CURLY_OPEN) depth++;
        else if (curly === CURLY_CLOSE) depth--;
      }
    }
    this.#depth = depth;
    return i;
  }

  #string(chunk: Uint8Array, at: number): number {
    const end = stringEnd(chunk, at);
    this.#isEscaped = end === STRING_OPEN_ESCAPED;
    this.#isInString = end < 0;
    return end < 0 ? chunk.length : end;
  }
}

/**
 * Finds the end of a string, `at` being inside it and not after a backslash.
 *
 * Returns the index after the closing quote, or one of the two constants. A
 * quote is escaped when an odd number of backslashes stands before it; they
 * are counted backwards, each once.
 */
function stringEnd(bytes: Uint8Array, at: number): number {
  const end = bytes.length;
  let i = at;
  for (;;) {
    const near = Math.min(end, i + STEP_BYTES);
    while (i < near) {
      const code = bytes[i];
      if (code === QUOTE) return i + 1;
      i += code === BACKSLASH ? 2 : 1;
    }
    if (i >= end) return i > end ? STRING_OPEN_ESCAPED : STRING_OPEN;
    const quote = bytes.indexOf(QUOTE, i);
    const stop = quote < 0 ? end : quote;
    let back = stop;
    while (back > i && bytes[back - 1] === BACKSLASH) back--;
    const isEscaped = ((stop - back) & 1) === 1;
    if (quote < 0) return isEscaped ? STRING_OPEN_ESCAPED : STRING_OPEN;
    if (!isEscaped) return quote + 1;
    i = quote + 1;
  }
}
