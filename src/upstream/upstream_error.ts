/**
 * What can go wrong with a request to an endpoint, as one class.
 *
 * The gateway maps a kind to a row of its error table and decides on failover;
 * for that it needs the kind and whether the engine can have seen the request.
 *
 * Invariant: `sent` is false only where it is proved that no byte of the
 * request was accepted for delivery, so that another attempt cannot run an
 * inference twice.
 *
 * @module
 */

/**
 * - `unreachable`: the connection could not be opened.
 * - `connect_timeout`: opening it, TLS included, took too long.
 * - `first_byte_timeout`: the request is out and nothing came back in time.
 * - `idle_timeout`: the endpoint stopped sending, or stopped reading.
 * - `reset`: the endpoint ended the connection before its response was whole.
 * - `malformed`: the response breaks HTTP/1.1 or can be read in two ways.
 * - `aborted`: the caller gave up, or the client was closed.
 * - `request_body`: the request body failed or broke its declared length.
 */
export type UpstreamErrorKind =
  | "unreachable"
  | "connect_timeout"
  | "first_byte_timeout"
  | "idle_timeout"
  | "reset"
  | "malformed"
  | "aborted"
  | "request_body";

/** A failed request to an endpoint. */
export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly kind: UpstreamErrorKind;
  /** Whether any byte of the request may have reached the engine. */
  readonly sent: boolean;
  /** Whether any byte of a response had come. */
  readonly hasResponse: boolean;

  constructor(
    kind: UpstreamErrorKind,
    message: string,
    options: {
      readonly sent: boolean;
      readonly hasResponse?: boolean;
      readonly cause?: unknown;
    },
  ) {
    super(
      message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.kind = kind;
    this.sent = options.sent;
    this.hasResponse = options.hasResponse ?? false;
  }
}

/**
 * A response that breaks HTTP/1.1. Response bytes have come, so the request
 * counts as sent.
 *
 * @param reason What is wrong, without a subject: "has a bare line feed".
 */
export function malformed(reason: string): UpstreamError {
  return new UpstreamError(
    "malformed",
    `Cannot read the response: it ${reason}`,
    { sent: true, hasResponse: true },
  );
}
