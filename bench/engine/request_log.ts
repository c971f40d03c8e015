/**
 * A bounded record of what reached the engine.
 *
 * Invariant: a record stands from the moment its head is read and is filled as
 * the exchange goes on, so a test can see that a request has arrived while its
 * body is still being sent. The oldest records make room for new ones.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import type { RequestHead } from "./http_request.ts";

/** How much is kept. */
export interface RequestLogOptions {
  /** Records kept. */
  readonly recordsMax: number;
  /** A longer body is kept as its length and SHA-256 only. */
  readonly recordBodyBytesMax: number;
}

/** One request as the engine saw it; times are of `performance.now()`. */
export class RequestRecord {
  readonly method: string;
  readonly target: string;
  /** Field lines as received, in order, without their line ends (latin-1). */
  readonly headerLines: readonly string[];
  readonly headers: ReadonlyMap<string, string>;
  /** Which connection of the engine, counted from 0. */
  readonly connection: number;
  /** When the head had arrived. */
  readonly headAtMs: number;
  firstBodyByteAtMs: number | undefined = undefined;
  lastBodyByteAtMs: number | undefined = undefined;
  /** Bytes of the body so far, without framing. */
  bodyByteCount = 0;
  /** Whether the whole request has been read. */
  isComplete = false;
  /** When the answer had been written, whole or as far as a fault let it. */
  answeredAtMs: number | undefined = undefined;
  /** When the client was seen to go before it had its answer. */
  clientGoneAtMs: number | undefined = undefined;
  #pieces: Uint8Array[] = [];
  #hash: Hash | undefined;
  readonly #bodyBytesMax: number;

  constructor(head: RequestHead, connection: number, bodyBytesMax: number) {
    this.method = head.method;
    this.target = head.target;
    this.headerLines = head.headerLines;
    this.headers = head.headers;
    this.connection = connection;
    this.headAtMs = performance.now();
    this.#bodyBytesMax = bodyBytesMax;
  }

  /** Whether the client closed before the answer was complete. */
  get clientClosedEarly(): boolean {
    return this.clientGoneAtMs !== undefined;
  }

  /** The body so far, or `undefined` when it is too long to be kept. */
  get body(): Uint8Array | undefined {
    if (this.#hash !== undefined) return undefined;
    return joinBytes(this.#pieces, this.bodyByteCount);
  }

  /** SHA-256 of the body so far, as hex digits. */
  get bodySha256(): string {
    const hash = this.#hash?.copy() ?? createHash("sha256");
    for (const piece of this.#pieces) hash.update(piece);
    return hash.digest("hex");
  }

  /** Notes bytes of the body, which from now on nobody changes. */
  addBody(bytes: Uint8Array): void {
    const nowMs = performance.now();
    this.firstBodyByteAtMs ??= nowMs;
    this.lastBodyByteAtMs = nowMs;
    this.bodyByteCount += bytes.length;
    if (this.#hash === undefined && this.bodyByteCount > this.#bodyBytesMax) {
      this.#hash = createHash("sha256");
      for (const piece of this.#pieces) this.#hash.update(piece);
      this.#pieces = [];
    }
    if (this.#hash !== undefined) this.#hash.update(bytes);
    else this.#pieces.push(bytes);
  }
}

/** The last requests of one engine, oldest first. */
export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #records: RequestRecord[] = [];
  readonly #watchers = new Set<() => void>();

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  /** The records kept, oldest first. */
  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Opens the record of a request. */
  open(head: RequestHead, connection: number): RequestRecord {
    const { recordsMax, recordBodyBytesMax } = this.#options;
    const record = new RequestRecord(head, connection, recordBodyBytesMax);
    if (recordsMax > 0) this.#records.push(record);
    if (this.#records.length > recordsMax) this.#records.shift();
    return record;
  }

  /** Tells those who wait that a record has changed. */
  changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /**
   * Resolves to the first record that `matches`, now or when one comes to.
   *
   * @throws {Error} when there is none within `withinMs`.
   */
  until(
    matches: (record: RequestRecord) => boolean,
    withinMs: number,
  ): Promise<RequestRecord> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const record = this.#records.find(matches);
        if (record === undefined) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        resolve(record);
      };
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        reject(
          new Error(
            `Cannot find the awaited request within ${withinMs} ms: ` +
              `${this.#records.length} are recorded`,
          ),
        );
      }, withinMs);
      this.#watchers.add(look);
      look();
    });
  }
}

/** One array out of many. */
export function joinBytes(
  pieces: readonly Uint8Array[],
  byteCount: number,
): Uint8Array {
  const joined = new Uint8Array(byteCount);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
