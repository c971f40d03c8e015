/**
 * Content codings through the runtime's zlib.
 *
 * Invariant: output appears in pieces of `PIECE_BYTES`, and none is produced
 * after the sink has had enough, however much the rest would inflate to.
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

/** Makes an inflater for a content coding. */
export function inflate(coding: string): Inflater | undefined {
  const create = CODINGS[coding];
  return create === undefined ? undefined : new ZlibInflater(create());
}

/** One zlib stream, fed chunk by chunk. */
class ZlibInflater implements Inflater {
  readonly #stream: ZlibStream;
  #sink: ((piece: Uint8Array) => boolean) | undefined;
  #settle: ((error?: Error) => void) | undefined;
  #failure: Error | undefined;
  #closed = false;

  constructor(stream: ZlibStream) {
    this.#stream = stream;
    stream.on("data", (piece) => {
      if (this.#sink?.(piece) !== true) return;
      this.#sink = undefined;
      this.close();
      this.#settle?.();
    });
    stream.on("error", (error) => {
      this.#failure = error;
      this.#settle?.(error);
    });
  }

  push(
    chunk: Uint8Array,
    sink: (piece: Uint8Array) => boolean,
  ): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#sink = sink;
    return new Promise((resolve, reject) => {
      this.#settle = (error) => error === undefined ? resolve() : reject(error);
      this.#stream.write(chunk, (error) => this.#settle?.(error ?? undefined));
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stream.destroy();
  }
}
