/**
 * The head of a response, read from bytes as they come (RFC 9112, 2 to 5).
 *
 * One line at a time, over bytes that stay where the socket put them: a line
 * is looked at when its line feed is there, and never twice. What RFC 9112
 * leaves to leniency (a bare line feed, folded fields, space before the colon)
 * is refused, as two readers that are lenient in different ways see two
 * different messages.
 *
 * Invariant: how the bytes were split into reads never changes the result.
 *
 * @module
 */
import type { Header } from "../core/request.ts";
import { type FieldTexts, NAME_BYTES, VALUE_BYTES } from "./field_text.ts";
import { malformed } from "./upstream_error.ts";

/** 64 KiB: what `Deno.serve` takes in a request head; engines send under 1. */
export const HEAD_BYTES_MAX = 65_536;

/** 256 fields: twice what `Deno.serve` takes in a request. */
export const FIELDS_MAX = 256;

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const HTAB = 0x09;
const COLON = 0x3a;
const ZERO = 0x30;

/** `HTTP/1.` as bytes; the digit after it is 0 or 1. */
const VERSION_PREFIX = [0x48, 0x54, 0x54, 0x50, 0x2f, 0x31, 0x2e];

/** Offset of the first status digit in `HTTP/1.1 200 OK`. */
const STATUS_AT = 9;

/** A head that has been read. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** The minor version: 0 or 1. */
  readonly minor: number;
  /** Lower-case names, latin-1 values, order and repeats as they came. */
  readonly headers: readonly Header[];
}

/** Reads one head after another; one parser per connection. */
export class ResponseHeadParser {
  readonly #texts: FieldTexts;
  #status = 0;
  #reason = "";
  #minor = 1;
  #headers: Header[] = [];
  /** Where the line being waited for begins, from the start of the head. */
  #lineAt = 0;
  /** How far the search for its line feed has come. */
  #scannedTo = 0;

  constructor(texts: FieldTexts) {
    this.#texts = texts;
  }

  /** Forgets a head that was read or given up. */
  reset(): void {
    this.#status = 0;
    this.#headers = [];
    this.#lineAt = 0;
    this.#scannedTo = 0;
  }

  /**
   * Reads on in `bytes`, whose head begins at `start` and which hold good
   * bytes up to `end`. Returns the offset after the head, or -1 when more
   * bytes are needed; then the same bytes, and more, MUST come next time.
   *
   * @throws {UpstreamError} of kind `malformed`.
   */
  parse(bytes: Uint8Array, start: number, end: number): number {
    let lineAt = start + this.#lineAt;
    let at = start + this.#scannedTo;
    const limit = Math.min(end, start + HEAD_BYTES_MAX);
    while (true) {
      while (at < limit && bytes[at] !== LF) at++;
      if (at === limit) break;
      if (at === lineAt || bytes[at - 1] !== CR) {
        throw malformed("has a line feed without a carriage return");
      }
      const lineEnd = at - 1;
      at++;
      if (lineEnd === lineAt && this.#status !== 0) return at;
      if (this.#status === 0) this.#readStatusLine(bytes, lineAt, lineEnd);
      else this.#readField(bytes, lineAt, lineEnd);
      lineAt = at;
    }
    if (end - start >= HEAD_BYTES_MAX) {
      throw malformed(`has a head of over ${HEAD_BYTES_MAX} bytes`);
    }
    this.#lineAt = lineAt - start;
    this.#scannedTo = at - start;
    return -1;
  }

  /** The head that `parse()` has found the end of. */
  head(): ResponseHead {
    return {
      status: this.#status,
      reason: this.#reason,
      minor: this.#minor,
      headers: this.#headers,
    };
  }

  #readStatusLine(bytes: Uint8Array, start: number, end: number): void {
    for (let i = 0; i < VERSION_PREFIX.length; i++) {
      if (bytes[start + i] !== VERSION_PREFIX[i]) {
        throw malformed("does not begin with HTTP/1");
      }
    }
    const minor = (bytes[start + 7] ?? 0) - ZERO;
    const isSpaced = bytes[start + 8] === SPACE;
    if ((minor !== 0 && minor !== 1) || !isSpaced) {
      throw malformed("is of another version than HTTP/1.0 and HTTP/1.1");
    }
    const reasonAt = start + STATUS_AT + 3;
    if (reasonAt > end) throw malformed("has a status line that is cut short");
    const status = digits(bytes, start + STATUS_AT, reasonAt);
    if (status < 100 || status > 599) {
      throw malformed("has a status outside of 100 to 599");
    }
    // The space before an absent reason is often left out; nothing else can
    // be meant by a line that ends there.
    if (reasonAt < end && bytes[reasonAt] !== SPACE) {
      throw malformed("has a status of more than three digits");
    }
    const range = { start: Math.min(reasonAt + 1, end), end };
    const reason = this.#texts.read(bytes, range, VALUE_BYTES);
    if (reason === undefined) {
      throw malformed("has a control character in its reason");
    }
    this.#status = status;
    this.#reason = reason;
    this.#minor = minor;
  }

  #readField(bytes: Uint8Array, start: number, end: number): void {
    if (this.#headers.length === FIELDS_MAX) {
      throw malformed(`has over ${FIELDS_MAX} header fields`);
    }
    let colon = start;
    while (colon < end && bytes[colon] !== COLON) colon++;
    if (colon === end) throw malformed("has a header line without a colon");
    if (colon === start) throw malformed("has a header without a name");
    const nameRange = { start, end: colon };
    const name = this.#texts.read(bytes, nameRange, NAME_BYTES);
    // Folded lines begin with a space, and `Name :` ends with one: both fail
    // here, as a space is no token byte (RFC 9112, 5.1 and 5.2).
    if (name === undefined) {
      throw malformed("has a header name that is not a token");
    }
    const valueRange = trim(bytes, colon + 1, end);
    const value = this.#texts.read(bytes, valueRange, VALUE_BYTES);
    if (value === undefined) {
      throw malformed(`has a control character in the value of "${name}"`);
    }
    this.#headers.push([name, value]);
  }
}

/** The number written in ASCII digits, or -1. */
function digits(bytes: Uint8Array, start: number, end: number): number {
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** The range without the spaces and tabulators around it. */
function trim(
  bytes: Uint8Array,
  start: number,
  end: number,
): { start: number; end: number } {
  while (start < end && isBlank(bytes[start])) start++;
  while (end > start && isBlank(bytes[end - 1])) end--;
  return { start, end };
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === HTAB;
}
