/**
 * One open socket to an endpoint, and the bytes that have come from it.
 *
 * There is at most one read in flight, and it outlives the request that asked
 * for it: an idle connection keeps one pending, which notices the engine's
 * closing and is the first read of the next response. What comes goes to
 * whoever owns the connection at that moment.
 *
 * Invariant: the buffer is written to only by the pending read, behind `end`,
 * and nobody else holds it: payload is copied out, or the buffer is handed
 * over whole and a new one made.
 *
 * @module
 */
import type { Socket } from "../core/outside.ts";
import type { FieldTexts } from "./field_text.ts";
import { HEAD_BYTES_MAX, ResponseHeadParser } from "./response_head.ts";

/** 16 KiB: a small answer with its head, or some hundred tokens of a stream. */
const BUFFER_BYTES = 16_384;

/**
 * 64 KiB, once a read has filled the small buffer: bulk costs less in large
 * reads, and the longest head has room.
 */
const BULK_BUFFER_BYTES = HEAD_BYTES_MAX;

/** Payload of at least half a buffer is handed over instead of copied. */
const HAND_OVER_SHARE = 2;

/** Whoever gets what comes from a connection. */
export interface ConnectionOwner {
  /** Bytes have come and stand before `connection.end`. */
  onBytes(connection: Connection): void;
  /** The stream has ended, or reading failed with `cause`. */
  onEnd(connection: Connection, cause: unknown): void;
}

/** Counts the open connections of a client. */
export interface OpenCount {
  open: number;
}

/** A socket with its read buffer and its parser. */
export class Connection {
  owner: ConnectionOwner;
  readonly parser: ResponseHeadParser;
  /** First and last (exclusive) byte not yet taken. */
  start = 0;
  end = 0;
  /** Since when it is idle, in milliseconds of the client's clock. */
  idleSinceMs = 0;
  /** The idle connections among which it stands. */
  idleAmong: Connection[] | undefined;
  readonly #socket: Socket;
  readonly #count: OpenCount;
  #buffer: Uint8Array = new Uint8Array(BUFFER_BYTES);
  #wantsBulk = false;
  #isReading = false;
  #isClosed = false;

  constructor(
    socket: Socket,
    options: {
      readonly owner: ConnectionOwner;
      readonly texts: FieldTexts;
      readonly count: OpenCount;
    },
  ) {
    this.#socket = socket;
    this.owner = options.owner;
    this.parser = new ResponseHeadParser(options.texts);
    this.#count = options.count;
    this.#count.open++;
  }

  /** The bytes; good ones stand between `start` and `end`. */
  get bytes(): Uint8Array {
    return this.#buffer;
  }

  get socket(): Socket {
    return this.#socket;
  }

  get isReading(): boolean {
    return this.#isReading;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * Asks for more bytes, which come to the owner. Returns false when the
   * buffer is at its largest and full.
   */
  read(): boolean {
    if (this.#isReading || this.#isClosed) return true;
    if (!this.#makeRoom()) return false;
    this.#isReading = true;
    const room = this.end === 0
      ? this.#buffer
      : this.#buffer.subarray(this.end);
    this.#socket.read(room).then(this.#onRead, this.#onReadError);
    return true;
  }

  /**
   * The bytes from `start` to `end` for the caller to keep; every other byte
   * of the buffer is given up. No read may be pending.
   */
  take(start: number, end: number): Uint8Array<ArrayBuffer> {
    const buffer = this.#buffer as Uint8Array<ArrayBuffer>;
    this.start = 0;
    this.end = 0;
    if ((end - start) * HAND_OVER_SHARE < buffer.length) {
      return buffer.slice(start, end);
    }
    this.#buffer = NO_BYTES;
    return buffer.subarray(start, end);
  }

  /** Gives up all bytes, and the room for bulk. No read may be pending. */
  clear(): void {
    this.start = 0;
    this.end = 0;
    this.#wantsBulk = false;
    if (this.#buffer.length !== BUFFER_BYTES) this.#buffer = NO_BYTES;
  }

  /** Closes the socket. Nothing comes to the owner afterwards. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#count.open--;
    this.#socket.close();
  }

  #makeRoom(): boolean {
    if (this.start === this.end) {
      this.start = 0;
      this.end = 0;
    }
    const size = this.#buffer.length;
    if (this.end === 0) {
      if (size === 0 || (this.#wantsBulk && size < BULK_BUFFER_BYTES)) {
        this.#buffer = new Uint8Array(
          this.#wantsBulk ? BULK_BUFFER_BYTES : BUFFER_BYTES,
        );
      }
      return true;
    }
    if (this.end < size) return true;
    if (this.start === 0 && size === BULK_BUFFER_BYTES) return false;
    const larger = new Uint8Array(BULK_BUFFER_BYTES);
    larger.set(this.#buffer.subarray(this.start, this.end));
    this.#buffer = larger;
    this.end -= this.start;
    this.start = 0;
    return true;
  }

  readonly #onRead = (count: number | null): void => {
    this.#isReading = false;
    if (this.#isClosed) return;
    if (count === null || count === 0) {
      this.owner.onEnd(this, undefined);
      return;
    }
    this.end += count;
    if (this.end === this.#buffer.length) this.#wantsBulk = true;
    this.owner.onBytes(this);
  };

  readonly #onReadError = (cause: unknown): void => {
    this.#isReading = false;
    if (!this.#isClosed) this.owner.onEnd(this, cause);
  };
}

/** Stands for a buffer that was handed over. */
const NO_BYTES: Uint8Array<ArrayBuffer> = new Uint8Array(0);
