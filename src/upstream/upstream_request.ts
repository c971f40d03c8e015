/**
 * A request to an endpoint, and its head as bytes.
 *
 * The head, and a small body behind it, are encoded straight into a buffer
 * that is lent out and given back, so that the usual request is one write and
 * allocates no bytes.
 *
 * Invariant: what is sent is what was given. Names, values and target go out
 * unchanged as latin-1 bytes, or nothing goes out at all; the one thing added
 * is the framing of the body.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import type { Address } from "../core/outside.ts";
import type { HeaderList } from "../core/request.ts";
import { putHead } from "./request_head.ts";

/**
 * 32 KiB: a head and the body of most first turns. Copying that much costs
 * less than a second write.
 */
export const WRITE_BUFFER_BYTES = 32_768;

/** 32 buffers, 1 MiB: a write lasts one turn of the event loop, so few do. */
const BUFFERS_KEPT_MAX = 32;

/** The bytes of ` HTTP/1.1` and of the line ends and colons around them. */
const REQUEST_LINE_EXTRA_BYTES = 12;

/** `transfer-encoding: chunked` with the last two line ends is the longest. */
const FRAMING_BYTES_MAX = 64;

/** RFC 9110, 9.2.2: sending one of these twice is as sending it once. */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PUT",
  "DELETE",
]);

/** The body of an upstream request. */
export type UpstreamBody =
  /** The whole body: sent with its length, and behind the head when small. */
  | Uint8Array
  /**
   * What was held while the key was sought, and the rest. `rest` is canceled
   * when it has been read from and is no longer wanted; before that it is
   * left alone, so that another attempt can use it.
   */
  | { readonly held: readonly Uint8Array[]; readonly rest: BodySource };

/** A request as the client sends it. */
export interface UpstreamRequest {
  readonly address: Address;
  readonly method: string;
  /** Path and query; goes out byte for byte as given. */
  readonly target: string;
  /** Final, `host` included; without `content-length`, `transfer-encoding`. */
  readonly headers: HeaderList;
  /** `undefined` for none: POST, PUT and PATCH then say `content-length: 0`. */
  readonly body: UpstreamBody | undefined;
  /**
   * Length in bytes of held and rest together, where the client declared it;
   * they MUST yield exactly as much. Without it the body is sent chunked.
   */
  readonly contentLength?: number | undefined;
  /** Whether the headers ask for another protocol; else a 101 is malformed. */
  readonly mayUpgrade?: boolean | undefined;
}

/** An encoded head, with the body when that is small. */
export interface Encoded {
  /** The buffer, to be given back to `WriteBuffers`. */
  readonly buffer: Uint8Array;
  readonly length: number;
  /** Whether the body stands behind the head. */
  readonly hasBody: boolean;
}

/** Whether `request` can be, and may be, sent a second time. */
export function isRepeatable({ body, method }: UpstreamRequest): boolean {
  const isWhole = body === undefined || body instanceof Uint8Array;
  return isWhole && IDEMPOTENT.has(method);
}

/** Lends out buffers for writing and encodes heads into them. */
export class WriteBuffers {
  readonly #free: Uint8Array[] = [];

  /** A buffer of `WRITE_BUFFER_BYTES` for the borrower alone. */
  lend(): Uint8Array {
    return this.#free.pop() ?? new Uint8Array(WRITE_BUFFER_BYTES);
  }

  /** Takes a buffer back, which no write may be using any more. */
  giveBack(buffer: Uint8Array): void {
    if (buffer.length !== WRITE_BUFFER_BYTES) return;
    if (this.#free.length < BUFFERS_KEPT_MAX) this.#free.push(buffer);
  }

  /**
   * Encodes the head of `request`, and its body when both fit one buffer.
   *
   * @throws {TypeError} when a part of the head may not stand in one.
   */
  encode(request: UpstreamRequest): Encoded {
    const { body } = request;
    const headBytesMax = headBound(request);
    const buffer = headBytesMax <= WRITE_BUFFER_BYTES
      ? this.lend()
      : new Uint8Array(headBytesMax);
    try {
      let length = putHead(buffer, request);
      const fits = body instanceof Uint8Array &&
        length + body.length <= buffer.length;
      if (fits) {
        buffer.set(body, length);
        length += body.length;
      }
      return { buffer, length, hasBody: fits || body === undefined };
    } catch (error) {
      this.giveBack(buffer);
      throw error;
    }
  }
}

/** At least as many bytes as the head takes. */
function headBound(request: UpstreamRequest): number {
  let bytes = request.method.length + request.target.length +
    REQUEST_LINE_EXTRA_BYTES + FRAMING_BYTES_MAX;
  for (const [name, value] of request.headers) {
    bytes += name.length + value.length + 4;
  }
  return bytes;
}
