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
 * called: roles and names end within them, and a call costs some forty.
 */
const STEP_BYTES = 16;

/**
 * Bytes after an escaped quote that are searched by words for the next one.
 * The native search is faster beyond some 140, but prose has a quotation every
 * couple of hundred: measured best from 192 to 512.
 */
const DENSE_BYTES = 256;

// The same byte four times, and the bits of the test for a zero byte.
const QUOTES = 0x22222222;
const BACKSLASHES = 0x5c5c5c5c;
const ONES = 0x01010101;
const TOP_BITS = 0x80808080;

/** The string goes on in the next chunk. */
const STRING_OPEN = -1;
/** The same, and the next byte is escaped by a backslash. */
const STRING_OPEN_ESCAPED = -2;

/** Skips one value at a time. */
export class ValueSkipper {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** The chunk as words, made when a string in it has escaped quotes. */
  #view: DataView | undefined;

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
    const next = this.#skip(chunk, at);
    // A sniff may outlive its chunks by hours, and must not keep them.
    this.#view = undefined;
    return next;
  }

  #skip(chunk: Uint8Array, at: number): number {
    let i = at;
    if (this.#isInString) {
      i = this.#string(chunk, this.#isEscaped ? i + 1 : i);
      if (this.#isInString) return i;
    }
    let depth = this.#depth;
    while (depth > 0 && i < chunk.length) {
      const code = chunk[i++] ?? 0;
      if (code === QUOTE) {
        const end = this.#stringEnd(chunk, i);
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
    const end = this.#stringEnd(chunk, at);
    this.#isEscaped = end === STRING_OPEN_ESCAPED;
    this.#isInString = end < 0;
    return end < 0 ? chunk.length : end;
  }

  /**
   * Finds the end of a string, `at` being inside it and not after a backslash.
   *
   * Returns the index after the closing quote, or one of the two constants. A
   * quote is escaped when an odd number of backslashes stands before it; they
   * are counted backwards, each once. Where one escaped quote is, as in JSON
   * within a string, more are near: the search for the next goes by words.
   */
  #stringEnd(bytes: Uint8Array, at: number): number {
    const end = bytes.length;
    const near = Math.min(end, at + STEP_BYTES);
    let i = at;
    while (i < near) {
      const code = bytes[i];
      if (code === QUOTE) return i + 1;
      i += code === BACKSLASH ? 2 : 1;
    }
    while (i < end) {
      const quote = bytes.indexOf(QUOTE, i);
      const stop = quote < 0 ? end : quote;
      let back = stop;
      while (back > i && bytes[back - 1] === BACKSLASH) back--;
      const isEscaped = ((stop - back) & 1) === 1;
      if (quote < 0) return isEscaped ? STRING_OPEN_ESCAPED : STRING_OPEN;
      if (!isEscaped) return quote + 1;
      i = this.#denseEnd(bytes, quote + 1);
      if (i < 0) return ~i;
    }
    return i > end ? STRING_OPEN_ESCAPED : STRING_OPEN;
  }

  /**
   * Goes on by words as long as escaped quotes are near: the index to go on
   * from, or the complement of the index after the closing quote.
   */
  #denseEnd(bytes: Uint8Array, at: number): number {
    const end = bytes.length;
    this.#view ??= new DataView(bytes.buffer, bytes.byteOffset, end);
    let i = at;
    let limit = Math.min(end, i + DENSE_BYTES);
    while (i < limit) {
      i = plainEnd(this.#view, i, limit);
      if (i >= limit) return i;
      if (bytes[i] === QUOTE) return ~(i + 1);
      i += 2;
      if (i <= end && bytes[i - 1] === QUOTE) {
        limit = Math.min(end, i + DENSE_BYTES);
      }
    }
    return i;
  }
}

/** Index of the first quote or backslash in `[from, to)`, or `to`. */
function plainEnd(view: DataView, from: number, to: number): number {
  let at = from;
  for (; at + 4 <= to; at += 4) {
    const word = view.getInt32(at, true);
    // A byte that is zero after the exclusive or borrows into its top bit.
    const quotes = word ^ QUOTES;
    const backslashes = word ^ BACKSLASHES;
    const zeros = ((quotes - ONES) & ~quotes) |
      ((backslashes - ONES) & ~backslashes);
    if ((zeros & TOP_BITS) !== 0) break;
  }
  for (; at < to; at++) {
    const code = view.getUint8(at);
    if (code === QUOTE || code === BACKSLASH) return at;
  }
  return to;
}
