/**
 * Where the body of a response ends (RFC 9112, 6.3), and taking it apart.
 *
 * Invariant: one reading or none. Both framings at once, lengths that differ
 * and codings other than `chunked` are errors, because the engine and
 * the client of the gateway would disagree on where the next message begins.
 *
 * @module
 */
import { ChunkedDecoder } from "./chunked_decoder.ts";
import type { HeaderList } from "../core/request.ts";
import type { ResponseHead } from "./response_head.ts";
import { malformed } from "./upstream_error.ts";

/** 15 digits: the longest run of them that is always below 2^53. */
const LENGTH_DIGITS_MAX = 15;

/** How a response frames its body. */
export interface Framing {
  /**
   * - `none`: there is no body, whatever the fields say.
   * - `length`: `length` bytes.
   * - `chunked`: until the last chunk.
   * - `close`: until the connection ends.
   */
  readonly kind: "none" | "length" | "chunked" | "close";
  /** Bytes of the body; 0 unless the kind is `length`. */
  readonly length: number;
  /** Whether the connection may carry another request afterwards. */
  readonly isReusable: boolean;
  /** The fields of the head, with one `content-length` at most. */
  readonly headers: HeaderList;
}

/**
 * Decides on the framing of the response to a request of this method.
 *
 * @throws {UpstreamError} of kind `malformed`.
 */
export function framingOf(head: ResponseHead, method: string): Framing {
  let length = -1;
  let isChunked = false;
  let lengthFields = 0;
  let isReusable = head.minor === 1;
  for (const [name, value] of head.headers) {
    if (name === "content-length") {
      length = contentLength(value, length);
      lengthFields += value.includes(",") ? 2 : 1;
    } else if (name === "transfer-encoding") {
      if (isChunked || value.toLowerCase() !== "chunked") {
        throw malformed("has a transfer coding other than chunked");
      }
      isChunked = true;
    } else if (name === "connection") {
      if (namesClose(value)) isReusable = false;
    }
  }
  if (isChunked && length >= 0) {
    throw malformed("has both a content-length and a transfer-encoding");
  }
  if (isChunked && head.minor === 0) {
    throw malformed("has a transfer coding in HTTP/1.0");
  }
  if (head.status < 200 && (isChunked || length >= 0)) {
    throw malformed("frames a body in an interim response");
  }
  if (head.status === 204 && (isChunked || length > 0)) {
    // RFC 9112 leaves no doubt that no body follows, but an engine that
    // frames one may send one.
    isReusable = false;
  }
  const headers = lengthFields > 1
    ? withOneLength(head.headers, length)
    : head.headers;
  if (isBodiless(head.status, method)) {
    return { kind: "none", length: 0, isReusable, headers };
  }
  if (isChunked) return { kind: "chunked", length: 0, isReusable, headers };
  if (length >= 0) return { kind: "length", length, isReusable, headers };
  return { kind: "close", length: 0, isReusable: false, headers };
}

/** Takes a body out of its framing, in place, as the bytes come. */
export class BodyDecoder {
  /** Where the payload of the last `decode()` begins in its bytes. */
  outStart = 0;
  outEnd = 0;
  #left: number;
  readonly #chunked: ChunkedDecoder | undefined;
  readonly #endsWithConnection: boolean;

  constructor(framing: Framing) {
    this.#left = framing.length;
    this.#chunked = framing.kind === "chunked"
      ? new ChunkedDecoder()
      : undefined;
    this.#endsWithConnection = framing.kind === "close";
  }

  /** Whether the body is complete. A close-delimited one never says so. */
  get ended(): boolean {
    if (this.#chunked !== undefined) return this.#chunked.ended;
    return !this.#endsWithConnection && this.#left === 0;
  }

  /** Whether the end of the connection is the end of the body. */
  get endsWithConnection(): boolean {
    return this.#endsWithConnection;
  }

  /**
   * Decodes `bytes` from `start` to `end` and sets `outStart` and `outEnd`.
   * Returns the offset after the last byte of the body: `end`, or less when
   * bytes follow that do not belong to it.
   *
   * @throws {UpstreamError} of kind `malformed`.
   */
  decode(bytes: Uint8Array, start: number, end: number): number {
    if (this.#chunked !== undefined) {
      const after = this.#chunked.decode(bytes, start, end);
      this.outStart = this.#chunked.outStart;
      this.outEnd = this.#chunked.outEnd;
      return after;
    }
    this.outStart = start;
    this.outEnd = end;
    if (!this.#endsWithConnection) {
      this.outEnd = Math.min(end, start + this.#left);
      this.#left -= this.outEnd - start;
    }
    return this.outEnd;
  }
}

function withOneLength(headers: HeaderList, length: number): HeaderList {
  const others = headers.filter(([name]) => name !== "content-length");
  return [...others, ["content-length", String(length)]];
}

function isBodiless(status: number, method: string): boolean {
  return status < 200 || status === 204 || status === 304 || method === "HEAD";
}

/**
 * One `content-length` field after those that said `before`, -1 for none.
 * A list of equal numbers is one number (RFC 9110, 8.6).
 */
function contentLength(value: string, before: number): number {
  const items = value.includes(",") ? value.split(",") : [value];
  for (const item of items) {
    const length = decimal(items.length === 1 ? item : withoutBlanks(item));
    if (length < 0) throw malformed("has a content-length that is no number");
    if (before >= 0 && before !== length) {
      throw malformed("has content-lengths that differ");
    }
    before = length;
  }
  return before;
}

/** `trim()` would take a no-break space, a latin-1 byte, for a blank. */
function withoutBlanks(text: string): string {
  return text.replace(/^[ \t]+|[ \t]+$/g, "");
}

function decimal(text: string): number {
  if (text.length === 0 || text.length > LENGTH_DIGITS_MAX) return -1;
  let value = 0;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function namesClose(value: string): boolean {
  if (value === "keep-alive") return false;
  return value.toLowerCase().split(",").some((item) => item.trim() === "close");
}
