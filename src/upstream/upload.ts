/**
 * The sending side of one request on one connection.
 *
 * A head with a small body behind it, the usual request, is one write and one
 * callback. Everything else is a pump: held chunks and large bodies are
 * written from where they are, and the rest is read no faster than the engine
 * takes it. It runs beside the waiting for the response.
 *
 * Invariant: the engine never sees a complete-looking request that is not
 * the client's: the last chunk, or the last byte of a declared length, goes
 * out only when the body has ended exactly there.
 *
 * @module
 */
import type { Socket } from "../core/outside.ts";
import type {
  Encoded,
  UpstreamBody,
  UpstreamRequest,
  WriteBuffers,
} from "./upstream_request.ts";
import { UpstreamError } from "./upstream_error.ts";

/**
 * Chunks up to 16 KiB are copied behind their size line, half a write buffer;
 * for larger ones a second write costs less than the copy.
 */
const COPIED_BYTES_MAX = 16_384;

const NO_BYTES = new Uint8Array(0);
const encoder = new TextEncoder();

/** Whoever is told how the sending ended; one of the two, or neither. */
export interface UploadOwner {
  /** The request body failed: the request MUST NOT look complete. */
  onBodyFailed(error: UpstreamError): void;
  /** The endpoint takes no more bytes; it may have responded before. */
  onWriteFailed(cause: unknown): void;
}

/** Sends one request. */
export class Upload {
  /** Whether the whole request has been accepted for delivery. */
  isDone = false;
  /** Whether a write is pending. */
  isWriting = false;
  /** Set by every write that got on; whoever watches sets it back. */
  hasMoved = false;
  /** Whether a write has been accepted. */
  #hasSent = false;
  #isStopped = false;
  #hasReadRest = false;
  /** The last chunk of the rest, as long as it is not kept. */
  #spare: Uint8Array | undefined;
  readonly #socket: Socket;
  readonly #request: UpstreamRequest;
  readonly #buffers: WriteBuffers;
  readonly #owner: UploadOwner;

  constructor(
    socket: Socket,
    options: {
      readonly request: UpstreamRequest;
      readonly buffers: WriteBuffers;
      readonly owner: UploadOwner;
    },
  ) {
    this.#socket = socket;
    this.#request = options.request;
    this.#buffers = options.buffers;
    this.#owner = options.owner;
  }

  /**
   * Whether any byte may have reached the engine. A first write that was
   * refused has sent nothing: the system accepted none of its bytes.
   */
  get maySent(): boolean {
    return this.#hasSent || this.isWriting;
  }

  /** Sends `encoded`, which is given back, and the body if it is not in it. */
  start(encoded: Encoded): void {
    const { buffer, length } = encoded;
    if (!encoded.hasBody) {
      this.#pump(encoded);
      return;
    }
    this.isWriting = true;
    this.#socket.write(buffer.subarray(0, length)).then((count) => {
      this.#wrote();
      if (count < length) {
        this.#finish(buffer, count, length);
        return;
      }
      this.isDone = true;
      this.#buffers.giveBack(buffer);
    }, (cause) => this.#writeFailed(cause, buffer));
  }

  /** Sends no more. The rest of the body is canceled if it was begun. */
  stop(): void {
    if (this.isDone || this.#isStopped) return;
    this.#isStopped = true;
    const { body } = this.#request;
    if (this.#hasReadRest && body !== undefined && "rest" in body) {
      body.rest.cancel();
    }
  }

  /** The rarer end of a one-write request that took several writes. */
  async #finish(
    buffer: Uint8Array,
    start: number,
    end: number,
  ): Promise<void> {
    try {
      this.isDone = await this.#write(buffer.subarray(start, end));
      this.#buffers.giveBack(buffer);
    } catch (cause) {
      this.#writeFailed(cause, buffer);
    }
  }

  async #pump({ buffer, length }: Encoded): Promise<void> {
    const { body, contentLength } = this.#request;
    try {
      if (!await this.#write(buffer.subarray(0, length))) return;
      if (body instanceof Uint8Array) {
        this.isDone = await this.#write(body);
      } else if (body !== undefined) {
        this.isDone = contentLength === undefined
          ? await this.#sendChunked(body, buffer)
          : await this.#sendSized(body, contentLength);
      }
      this.#buffers.giveBack(buffer);
    } catch (cause) {
      if (cause instanceof UpstreamError) {
        this.#buffers.giveBack(buffer);
        if (!this.#isStopped) this.#owner.onBodyFailed(cause);
      } else {
        this.#writeFailed(cause, buffer);
      }
    }
  }

  async #sendSized(
    body: Exclude<UpstreamBody, Uint8Array>,
    length: number,
  ): Promise<boolean> {
    let left = length;
    // The chunk that completes the length waits until the body has ended, as
    // after it the engine would take the request for complete.
    let last: Uint8Array = NO_BYTES;
    for (let i = 0;; i++) {
      const chunk = await this.#next(body, i);
      if (chunk === undefined) break;
      if (chunk.length > left) {
        throw bodyFailed(`is longer than the ${length} bytes declared`);
      }
      left -= chunk.length;
      if (left > 0) {
        if (!await this.#write(chunk)) return false;
      } else if (chunk.length > 0) {
        last = chunk;
        this.#spare = undefined;
      }
    }
    if (left > 0 && !this.#isStopped) {
      throw bodyFailed(`ended ${left} bytes before its declared length`);
    }
    return await this.#write(last);
  }

  /**
   * Each size line carries the line end of the chunk before it, so that a
   * large chunk is two writes and not three.
   */
  async #sendChunked(
    body: Exclude<UpstreamBody, Uint8Array>,
    buffer: Uint8Array,
  ): Promise<boolean> {
    let lineEnd = "";
    for (let i = 0;; i++) {
      const chunk = await this.#next(body, i);
      if (chunk === undefined) break;
      // A chunk of no bytes would be the last one.
      if (chunk.length === 0) continue;
      const line = `${lineEnd}${chunk.length.toString(16)}\r\n`;
      const { written } = encoder.encodeInto(line, buffer);
      const isCopied = chunk.length <= COPIED_BYTES_MAX;
      if (isCopied) buffer.set(chunk, written);
      const size = written + (isCopied ? chunk.length : 0);
      if (!await this.#write(buffer.subarray(0, size))) return false;
      if (!isCopied && !await this.#write(chunk)) return false;
      lineEnd = "\r\n";
    }
    if (this.#isStopped) return false;
    return await this.#write(encoder.encode(`${lineEnd}0\r\n\r\n`));
  }

  /** The chunk with this number, or `undefined` after the last. */
  async #next(
    body: Exclude<UpstreamBody, Uint8Array>,
    index: number,
  ): Promise<Uint8Array | undefined> {
    if (this.#isStopped) return undefined;
    if (index < body.held.length) return body.held[index] ?? NO_BYTES;
    this.#hasReadRest = true;
    // What came from the rest has been written by now, so that its memory can
    // take the next bytes.
    const spare = this.#spare;
    this.#spare = undefined;
    try {
      const chunk = await body.rest.read(spare);
      this.#spare = chunk;
      return chunk;
    } catch (cause) {
      throw bodyFailed("could not be read to its end", cause);
    }
  }

  /** Writes all of `bytes`; false when it was told to stop. */
  async #write(bytes: Uint8Array): Promise<boolean> {
    let at = 0;
    while (at < bytes.length) {
      if (this.#isStopped) return false;
      this.isWriting = true;
      const count = await this.#socket.write(
        at === 0 ? bytes : bytes.subarray(at),
      );
      this.#wrote();
      at += count;
    }
    return !this.#isStopped;
  }

  #wrote(): void {
    this.isWriting = false;
    this.hasMoved = true;
    this.#hasSent = true;
  }

  #writeFailed(cause: unknown, buffer: Uint8Array): void {
    this.isWriting = false;
    this.#buffers.giveBack(buffer);
    if (!this.#isStopped) this.#owner.onWriteFailed(cause);
  }
}

function bodyFailed(what: string, cause?: unknown): UpstreamError {
  return new UpstreamError(
    "request_body",
    `Cannot send the request: its body ${what}`,
    { sent: true, cause },
  );
}
