/**
 * One request and its response, over the one or two connections it takes.
 *
 * Everything is driven by what the socket reports: the exchange owns its
 * connection until the head is complete, then lends it to the body. Uploading
 * runs beside that, so that an early refusal is seen meanwhile.
 *
 * Invariant: a request of which a byte may have been accepted is never sent
 * again, unless it is idempotent and whole, went out on a connection that had
 * been idle, and got no byte of response. However an exchange ends, its
 * connection is back in the pool or closed, and the caller is told once.
 *
 * @module
 */
import type { RosterMember } from "../core/roster.ts";
import type { Clock, Dial } from "../core/outside.ts";
import type { FieldTexts } from "./field_text.ts";
import type { IdlePool } from "./idle_pool.ts";
import {
  Connection,
  type ConnectionOwner,
  type OpenCount,
} from "./connection.ts";
import { type ReadResponse, ResponseReader } from "./response_reader.ts";
import { StreamedBody, type StreamedBodyOwner } from "./streamed_body.ts";
import { UpgradedSocket } from "./upgraded_socket.ts";
import { Upload, type UploadOwner } from "./upload.ts";
import { type SilenceLimits, SilenceWatch } from "./silence_watch.ts";
import {
  type Encoded,
  isRepeatable,
  type UpstreamRequest,
  type WriteBuffers,
} from "./upstream_request.ts";
import { UpstreamError, type UpstreamErrorKind } from "./upstream_error.ts";
import type { UpstreamResponse } from "./upstream_response.ts";

/** A request on its way. */
export interface UpstreamExchange {
  /** Resolves with the final head; rejects with an `UpstreamError`. */
  readonly response: Promise<UpstreamResponse>;
  /** Closes the socket at once, in every phase; harmless after the end. */
  readonly abort: () => void;
  /** Whether any byte of the request may have reached the engine. */
  readonly bytesSent: boolean;
}

/** What the exchanges of a client share. */
export interface ExchangeHost {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly pool: IdlePool;
  readonly texts: FieldTexts;
  readonly buffers: WriteBuffers;
  readonly count: OpenCount;
  readonly limits: SilenceLimits;
  /** The exchange is over; called once. */
  settled(exchange: Exchange): void;
}

/** An exchange; `run()` sets it going. */
export class Exchange
  implements
    UpstreamExchange,
    ConnectionOwner,
    UploadOwner,
    StreamedBodyOwner,
    RosterMember {
  rosterPlace = -1;
  readonly #host: ExchangeHost;
  readonly #request: UpstreamRequest;
  readonly #promise = Promise.withResolvers<UpstreamResponse>();
  readonly #watch: SilenceWatch;
  readonly #reader: ResponseReader;
  #encoded: Encoded;
  #dialing: AbortController | undefined;
  #connection: Connection | undefined;
  #upload: Upload | undefined;
  #body: StreamedBody | undefined;
  #isSettled = false;
  #isReused = false;
  #isReusable = false;
  #isWriteBroken = false;
  #isUpgraded = false;
  #hasSentBefore = false;
  #hasBytes = false;

  constructor(host: ExchangeHost, request: UpstreamRequest) {
    this.#host = host;
    this.#request = request;
    this.#encoded = host.buffers.encode(request);
    this.#watch = new SilenceWatch(host.limits);
    this.#reader = new ResponseReader(request.method, request.mayUpgrade);
  }

  get response(): Promise<UpstreamResponse> {
    return this.#promise.promise;
  }

  get bytesSent(): boolean {
    return this.#hasSentBefore || this.#upload?.maySent === true;
  }

  /** Takes an idle connection or opens one, and sends the request. */
  run(): void {
    const { pool, clock } = this.#host;
    const idle = pool.take(this.#request.address, clock.nowMs());
    if (idle === undefined) {
      this.#dial();
      return;
    }
    this.#isReused = true;
    this.#use(idle);
  }

  readonly abort = (): void => {
    if (this.#isSettled) return;
    // Whoever aborts has mostly stopped listening.
    this.#promise.promise.catch(() => {});
    this.#fail("aborted", "it was given up");
  };

  /** Ends the exchange when it has waited too long for the endpoint. */
  check(nowMs: number): void {
    // What has switched protocols is watched by whoever speaks the new one.
    if (this.#isUpgraded) return;
    const connection = this.#connection;
    const silence = this.#watch.check(nowMs, {
      isConnecting: this.#dialing !== undefined,
      upload: this.#upload,
      body: this.#body,
      // A head is taken from the buffer before a body that is waited for.
      hasBegun: this.#reader.status > 0 ||
        (connection !== undefined && connection.end > connection.start),
      isWriteBroken: this.#isWriteBroken && this.#body === undefined,
    });
    if (silence !== undefined) this.#fail(silence.kind, silence.reason);
  }

  onBytes(connection: Connection): void {
    this.#watch.moved();
    this.#hasBytes = true;
    let response: ReadResponse | undefined;
    try {
      response = this.#reader.read(connection);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      this.#failWith(error);
      return;
    }
    // A refusal makes the rest of the upload pointless.
    if (this.#reader.status >= 400) this.#upload?.stop();
    if (response === undefined) connection.read();
    else this.#respond(connection, response);
  }

  onEnd(connection: Connection, cause: unknown): void {
    const mayRepeat = !this.bytesSent || isRepeatable(this.#request);
    if (this.#isReused && !this.#hasBytes && mayRepeat) {
      this.#hasSentBefore = this.bytesSent;
      this.#isReused = false;
      this.#upload?.stop();
      connection.close();
      this.#encoded = this.#host.buffers.encode(this.#request);
      this.#dial();
      return;
    }
    const reason = this.#hasBytes
      ? "the endpoint ended the connection within its response"
      : "the endpoint ended the connection without a response";
    this.#fail("reset", reason, cause);
  }

  onBodyFailed(error: UpstreamError): void {
    this.#failWith(error);
  }

  /**
   * The endpoint takes no more, but may have said why: what it sent before is
   * still read, and the read that is pending tells when there is nothing.
   */
  onWriteFailed(): void {
    this.#isWriteBroken = true;
    this.#watch.moved();
  }

  onBodyMoved(): void {
    this.#watch.moved();
  }

  onBodyEnded(connection: Connection): void {
    this.#release(connection);
  }

  onBodyBroken(error: UpstreamError): void {
    this.#failWith(error);
  }

  #dial(): void {
    const dialing = new AbortController();
    this.#dialing = dialing;
    this.#watch.startAt(this.#host.clock.nowMs());
    this.#host.dial(this.#request.address, dialing.signal).then((socket) => {
      if (this.#isSettled) {
        socket.close();
        return;
      }
      this.#dialing = undefined;
      const { texts, count } = this.#host;
      this.#use(new Connection(socket, { owner: this, texts, count }));
    }, (cause) => {
      this.#fail("unreachable", "the endpoint could not be reached", cause);
    });
  }

  #use(connection: Connection): void {
    this.#connection = connection;
    connection.owner = this;
    connection.parser.reset();
    this.#isWriteBroken = false;
    this.#watch.moved();
    const { buffers } = this.#host;
    const request = this.#request;
    const upload = new Upload(connection.socket, {
      request,
      buffers,
      owner: this,
    });
    this.#upload = upload;
    upload.start(this.#encoded);
    connection.read();
  }

  /** The response is known; its body is here, or streams from now on. */
  #respond(connection: Connection, read: ReadResponse): void {
    const { status, reason, headers, framing, body } = read;
    if (status === 101) {
      this.#isUpgraded = true;
      const upgraded = new UpgradedSocket(
        connection,
        () => this.#release(connection),
      );
      this.#promise.resolve({
        status,
        reason,
        headers,
        body: undefined,
        upgraded,
      });
      return;
    }
    this.#isReusable = framing.isReusable;
    if (body === undefined || body instanceof Uint8Array) {
      this.#release(connection);
      this.#promise.resolve({ status, reason, headers, body });
      return;
    }
    const streamed = new StreamedBody(connection, {
      ...body,
      framing,
      owner: this,
    });
    this.#body = streamed;
    connection.owner = streamed;
    this.#promise.resolve({ status, reason, headers, body: streamed });
  }

  /** Puts the connection back, or closes it, at the clean end. */
  #release(connection: Connection): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const { pool, clock } = this.#host;
    const isClean = this.#isReusable && this.#upload?.isDone === true &&
      connection.start === connection.end && !connection.isClosed;
    if (isClean) {
      pool.put(this.#request.address, connection, clock.nowMs());
    } else {
      this.#upload?.stop();
      connection.close();
    }
    this.#host.settled(this);
  }

  #fail(kind: UpstreamErrorKind, reason: string, cause?: unknown): void {
    const facts = { sent: this.bytesSent, hasResponse: this.#hasBytes, cause };
    const message = `Cannot complete the request: ${reason}`;
    this.#failWith(new UpstreamError(kind, message, facts));
  }

  #failWith(error: UpstreamError): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#dialing?.abort();
    this.#upload?.stop();
    this.#connection?.close();
    this.#host.settled(this);
    if (this.#body === undefined) this.#promise.reject(error);
    else this.#body.fail(error);
  }
}
