/**
 * Content codings through the runtime's zlib.
 *
 * A decoder keeps as much of what it has decoded as its coding may refer back
 * to: 32 KiB for gzip and deflate, but up to 16 MiB for brotli (RFC 7932, 9.1)
 * and 128 MiB for Zstandard. The latter uses as much memory as it has decoded,
 * so it is that which is bounded. Brotli fills its window whatever is asked of
 * it, so a body with a window over what encoders take unasked is not looked at.
 *
 * Invariant: output appears in pieces of `PIECE_BYTES`, and none is produced
 * after the sink has had enough, however much the rest would inflate to. All
 * decoders of a thread together hold at most 128 MiB of windows.
 *
 * @module
 */
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import type { Inflater } from "../gateway/inflate.ts";

/** Size of a decoded piece in bytes: zlib's own default. */
const PIECE_BYTES = 16_384;

/**
 * Bytes decoded for each byte of the body, and besides: JSON compresses tenfold
 * or so, and a bomb a thousandfold. Decoded pieces stay in memory until they
 * are collected, so a bomb is not decoded any further once it is known as one.
 */
const RATIO_MAX = 64;
const RATIO_SLACK_BYTES = 256 * 1024;

/** Bytes of a body given to the decoder at once, as it cannot be stopped. */
const SLICE_BYTES = 16_384;

/**
 * Bytes decoded of a coding with a large window: 3 MiB, which is half a million
 * words. A key behind them is not found.
 */
const WINDOW_BYTES_MAX = 3 * 1024 * 1024;

/**
 * Decoders with a large window open at once in a thread. A body is decoded in
 * milliseconds once it is there: more are open only where bodies come slowly,
 * and those beyond are forwarded without a look into them.
 */
const WINDOWS_MAX = 32;

/** The codings with a large window. */
const WINDOWED: ReadonlySet<string> = new Set(["br", "zstd"]);

let openWindows = 0;

/**
 * Whether a brotli stream that opens with `byte` has a window over 4 MiB, or
 * 22 bits (RFC 7932, 9.1): a set bit, and three that say 6 or 7.
 */
function isWideBrotli(byte: number): boolean {
  return (byte & 1) === 1 && ((byte >> 1) & 7) > 5;
}

/** The part of a zlib stream that is used here. */
interface ZlibStream {
  on(event: "data", listener: (piece: Uint8Array) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  write(chunk: Uint8Array, done: (error?: Error | null) => void): boolean;
  destroy(): unknown;
}

/** The codings a request body may come in (RFC 9110, 8.4.1; RFC 8878). */
const CODINGS: Readonly<Record<string, () => ZlibStream>> = {
  br: () => createBrotliDecompress({ chunkSize: PIECE_BYTES }),
  deflate: () => createInflate({ chunkSize: PIECE_BYTES }),
  gzip: () => createGunzip({ chunkSize: PIECE_BYTES }),
  "x-gzip": () => createGunzip({ chunkSize: PIECE_BYTES }),
  zstd: () => createZstdDecompress({ chunkSize: PIECE_BYTES }),
};

/** Makes an inflater for a content coding, unless too many are open. */
export function inflate(coding: string): Inflater | undefined {
  const create = CODINGS[coding];
  if (create === undefined) return undefined;
  if (!WINDOWED.has(coding)) return new ZlibInflater(create(), Infinity);
  if (openWindows >= WINDOWS_MAX) return undefined;
  const inflater = new ZlibInflater(create(), WINDOW_BYTES_MAX);
  return coding === "br" ? new BrotliInflater(inflater) : inflater;
}

/** Brotli with a window that is not too wide. */
class BrotliInflater implements Inflater {
  readonly #inner: Inflater;
  #isKnown = false;

  constructor(inner: Inflater) {
    this.#inner = inner;
  }

  push(
    chunk: Uint8Array,
    sink: (piece: Uint8Array) => boolean,
  ): Promise<void> {
    const [first] = chunk;
    if (!this.#isKnown && first !== undefined) {
      if (isWideBrotli(first)) {
        return Promise.reject(new RangeError("Cannot keep a wide window"));
      }
      this.#isKnown = true;
    }
    return this.#inner.push(chunk, sink);
  }

  close(): void {
    this.#inner.close();
  }
}

/** One zlib stream, fed chunk by chunk. */
class ZlibInflater implements Inflater {
  readonly #stream: ZlibStream;
  #sink: ((piece: Uint8Array) => boolean) | undefined;
  #settle: ((error?: Error) => void) | undefined;
  #failure: Error | undefined;
  #closed = false;
  readonly #hasWindow: boolean;
  readonly #bytesMax: number;
  #taken = 0;
  #decoded = 0;

  constructor(stream: ZlibStream, bytesMax: number) {
    this.#stream = stream;
    this.#bytesMax = bytesMax;
    this.#hasWindow = bytesMax !== Infinity;
    if (this.#hasWindow) openWindows++;
    stream.on("data", (piece) => {
      this.#decoded += piece.length;
      if (this.#sink?.(piece) !== true && this.#isWithinBounds()) return;
      this.#sink = undefined;
      this.close();
      this.#settle?.();
    });
    stream.on("error", (error) => {
      this.#failure = error;
      this.#settle?.(error);
    });
  }

  async push(
    chunk: Uint8Array,
    sink: (piece: Uint8Array) => boolean,
  ): Promise<void> {
    for (let at = 0; at < chunk.length && !this.#closed; at += SLICE_BYTES) {
      if (this.#failure !== undefined) throw this.#failure;
      this.#sink = sink;
      await this.#write(chunk.subarray(at, at + SLICE_BYTES));
    }
  }

  #write(slice: Uint8Array): Promise<void> {
    this.#taken += slice.length;
    return new Promise((resolve, reject) => {
      this.#settle = (error) => error === undefined ? resolve() : reject(error);
      this.#stream.write(slice, (error) => this.#settle?.(error ?? undefined));
    });
  }

  #isWithinBounds(): boolean {
    const byRatio = RATIO_SLACK_BYTES + RATIO_MAX * this.#taken;
    return this.#decoded < Math.min(byRatio, this.#bytesMax);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#hasWindow) openWindows--;
    this.#stream.destroy();
  }
}
