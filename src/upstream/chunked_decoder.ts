/**
 * The chunked transfer coding, taken off bytes as they come (RFC 9112, 7.1).
 *
 * The payload is moved together inside the buffer that the socket filled: the
 * first run of data stays where it is and later runs are moved up to it, so
 * that the usual read (one chunk, or part of one) moves nothing.
 *
 * Invariant: no byte is kept between calls; all that is carried over is the
 * state and one number. Sizes, extensions and trailers have limits.
 *
 * @module
 */
import { NAME_BYTES, VALUE_BYTES } from "./field_text.ts";
import { malformed } from "./upstream_error.ts";

/** 12 hexadecimal digits: 256 TiB, far below 2^53. */
const SIZE_DIGITS_MAX = 12;

/** 1 KiB: no engine sends chunk extensions; this much may be ignored. */
const EXTENSION_BYTES_MAX = 1024;

/** 16 KiB: trailers carry a checksum or timings, and are dropped. */
const TRAILER_BYTES_MAX = 16_384;

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const HTAB = 0x09;
const COLON = 0x3a;
const SEMICOLON = 0x3b;

/** What the next byte belongs to. */
const enum State {
  Size,
  SizeBlank,
  Extension,
  SizeLf,
  Data,
  DataCr,
  DataLf,
  TrailerStart,
  TrailerName,
  TrailerValue,
  TrailerLf,
  LastLf,
  End,
}

/** Decodes one chunked body. */
export class ChunkedDecoder {
  /** Where the payload of the last `decode()` begins in its bytes. */
  outStart = 0;
  /** Where it ends; equal to `outStart` when there was only framing. */
  outEnd = 0;
  #state = State.Size;
  /** Bytes left of the chunk, or its size while that is being read. */
  #left = 0;
  #digits = 0;
  /** Bytes of the extension or of the trailers so far. */
  #extra = 0;

  /** Whether the last chunk and the trailers have been seen. */
  get ended(): boolean {
    return this.#state === State.End;
  }

  /**
   * Decodes `bytes` from `start` to `end` in place and sets `outStart` and
   * `outEnd`. Returns the offset after the last byte that belongs to the
   * body: `end`, or less when the body ended before.
   *
   * @throws {UpstreamError} of kind `malformed`.
   */
  decode(bytes: Uint8Array, start: number, end: number): number {
    this.outStart = start;
    this.outEnd = start;
    let at = start;
    while (at < end && this.#state !== State.End) {
      if (this.#state === State.Data) at = this.#data(bytes, at, end);
      else this.#framing(bytes[at++] ?? 0);
    }
    return at;
  }

  #data(bytes: Uint8Array, at: number, end: number): number {
    const count = Math.min(this.#left, end - at);
    if (this.outEnd === this.outStart) {
      this.outStart = at;
      this.outEnd = at + count;
    } else {
      bytes.copyWithin(this.outEnd, at, at + count);
      this.outEnd += count;
    }
    this.#left -= count;
    if (this.#left === 0) this.#state = State.DataCr;
    return at + count;
  }

  #framing(byte: number): void {
    switch (this.#state) {
      case State.Size:
        return this.#size(byte);
      case State.SizeBlank:
        if (byte === SEMICOLON) this.#state = State.Extension;
        else if (byte === SPACE || byte === HTAB) this.#count(byte);
        else throw malformed("has a chunk size that is not a number");
        return;
      case State.Extension:
        if (byte === CR) this.#state = State.SizeLf;
        else this.#count(byte);
        return;
      case State.SizeLf:
        this.#expect(byte, LF);
        return this.#sizeEnd();
      case State.DataCr:
        this.#expect(byte, CR);
        this.#state = State.DataLf;
        return;
      case State.DataLf:
        this.#expect(byte, LF);
        this.#state = State.Size;
        return;
      default:
        return this.#trailer(byte);
    }
  }

  #size(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      if (++this.#digits > SIZE_DIGITS_MAX) {
        throw malformed(`has a chunk size of over ${SIZE_DIGITS_MAX} digits`);
      }
      this.#left = this.#left * 16 + digit;
      return;
    }
    if (this.#digits === 0) {
      throw malformed("has a chunk without a size");
    }
    if (byte === CR) this.#state = State.SizeLf;
    else if (byte === SEMICOLON) this.#state = State.Extension;
    else if (byte === SPACE || byte === HTAB) this.#state = State.SizeBlank;
    else throw malformed("has a chunk size that is not a number");
  }

  #sizeEnd(): void {
    this.#state = this.#left === 0 ? State.TrailerStart : State.Data;
    this.#digits = 0;
    this.#extra = 0;
  }

  #trailer(byte: number): void {
    switch (this.#state) {
      case State.TrailerStart:
        if (byte === CR) {
          this.#state = State.LastLf;
          return;
        }
        this.#state = State.TrailerName;
        return this.#trailerName(byte, /* isFirst */ true);
      case State.TrailerName:
        return this.#trailerName(byte, /* isFirst */ false);
      case State.TrailerValue:
        if (byte === CR) this.#state = State.TrailerLf;
        else this.#count(byte);
        return;
      case State.TrailerLf:
        this.#expect(byte, LF);
        this.#state = State.TrailerStart;
        return;
      case State.LastLf:
        this.#expect(byte, LF);
        this.#state = State.End;
        return;
    }
  }

  #trailerName(byte: number, isFirst: boolean): void {
    if (byte === COLON && !isFirst) {
      this.#state = State.TrailerValue;
      return;
    }
    if (NAME_BYTES[byte] === 0) {
      throw malformed("has a trailer name that is not a token");
    }
    this.#count(byte);
  }

  /** Takes a byte of an extension or a trailer, which are dropped. */
  #count(byte: number): void {
    if (VALUE_BYTES[byte] === 0) {
      throw malformed("has a control character in its chunk framing");
    }
    const isTrailer = this.#state >= State.TrailerStart;
    const limit = isTrailer ? TRAILER_BYTES_MAX : EXTENSION_BYTES_MAX;
    if (++this.#extra > limit) {
      throw malformed(`has over ${limit} bytes of extension or trailers`);
    }
  }

  #expect(byte: number, wanted: number): void {
    if (byte !== wanted) {
      throw malformed("has a chunk whose line end is not CRLF");
    }
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
