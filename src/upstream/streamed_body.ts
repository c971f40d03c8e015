/**
 * The body of a response, streamed: bytes out of their framing as they come.
 *
 * Whatever one read of the socket brought goes out together, unparsed. The
 * socket is read only while somebody waits for bytes, so a client that stops
 * reading stops the engine.
 *
 * Invariant: `undefined` is handed out only after the end that the framing
 * states. A body that was cut short, canceled or malformed rejects.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";
import type { BodyDecoder, Framing } from "./response_framing.ts";
import { UpstreamError } from "./upstream_error.ts";

/** Whoever the body belongs to, told of its end once. */
export interface StreamedBodyOwner {
  /** All of the body has been handed out, or is about to be. */
  onBodyEnded(connection: Connection): void;
  /** The body is broken; the connection cannot be used any more. */
  onBodyBroken(error: UpstreamError): void;
  /** The reader wants no more. */
  abort(): void;
  /** Bytes have come. */
  onBodyMoved(): void;
}

/** Pulls a response body out of a connection. */
export class StreamedBody implements BodySource, ConnectionOwner {
  readonly length: number | undefined;
  readonly #connection: Connection;
  readonly #decoder: BodyDecoder;
  readonly #owner: StreamedBodyOwner;
  #first: Uint8Array | undefined;
  #failure: UpstreamError | undefined;
  #waiting: PromiseWithResolvers<Uint8Array | undefined> | undefined;
  #hasEnded = false;

  constructor(
    connection: Connection,
    options: {
      readonly framing: Framing;
      readonly decoder: BodyDecoder;
      /** Payload that came together with the head. */
      readonly first: Uint8Array | undefined;
      readonly owner: StreamedBodyOwner;
    },
  ) {
    const { framing } = options;
    this.length = framing.kind === "length" ? framing.length : undefined;
    this.#connection = connection;
    this.#decoder = options.decoder;
    this.#first = options.first;
    this.#owner = options.owner;
  }

  /** Whether somebody waits for bytes. */
  get isAwaited(): boolean {
    return this.#waiting !== undefined;
  }

  /** @throws {TypeError} while another read is waiting. */
  read(): Promise<Uint8Array | undefined> {
    if (this.#waiting !== undefined) {
      return Promise.reject(
        new TypeError("Cannot read a body twice at once: await the first read"),
      );
    }
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#hasEnded) return Promise.resolve(undefined);
    const first = this.#first;
    if (first !== undefined) {
      this.#first = undefined;
      return Promise.resolve(first);
    }
    const waiting = Promise.withResolvers<Uint8Array | undefined>();
    this.#waiting = waiting;
    this.#connection.read();
    return waiting.promise;
  }

  /** Closes the connection at once, unless the body has ended. */
  cancel(): void {
    if (this.#hasEnded || this.#failure !== undefined) return;
    this.#owner.abort();
  }

  /** Makes this and every further read reject; the owner closes the socket. */
  fail(error: UpstreamError): void {
    if (this.#hasEnded || this.#failure !== undefined) return;
    this.#failure = error;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  onBytes(connection: Connection): void {
    this.#owner.onBodyMoved();
    const decoder = this.#decoder;
    const { bytes, start, end } = connection;
    let after: number;
    try {
      after = decoder.decode(bytes, start, end);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      this.#break(error);
      return;
    }
    const { outStart, outEnd } = decoder;
    const hasStray = after < end;
    const payload = outEnd > outStart
      ? connection.take(outStart, outEnd)
      : undefined;
    if (!decoder.ended) {
      connection.start = connection.end = 0;
      if (payload === undefined) connection.read();
      else this.#hand(payload);
      return;
    }
    this.#hasEnded = true;
    if (hasStray) connection.close();
    else connection.start = connection.end = 0;
    this.#owner.onBodyEnded(connection);
    this.#hand(payload);
  }

  onEnd(connection: Connection, cause: unknown): void {
    if (cause === undefined && this.#decoder.endsWithConnection) {
      this.#hasEnded = true;
      connection.close();
      this.#owner.onBodyEnded(connection);
      this.#hand(undefined);
      return;
    }
    this.#break(
      new UpstreamError(
        "reset",
        "Cannot read the response body: the endpoint ended it early",
        { sent: true, cause },
      ),
    );
  }

  #break(error: UpstreamError): void {
    this.fail(error);
    this.#owner.onBodyBroken(error);
  }

  #hand(payload: Uint8Array | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(payload);
  }
}
