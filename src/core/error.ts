/**
 * The error table: everything the gateway itself can answer with.
 *
 * Invariant: a code is stable, has one status and one type, and says whose
 * fault it is and whether trying again helps. Adding an error is adding a row.
 * The texts of errors never hold a session key, a credential, a prompt or an
 * address of the inside.
 *
 * @module
 */

/** Whose fault an error is; the first question of whoever is on call. */
export type Fault = "client" | "gateway" | "upstream";

/** One row of the table. */
export interface ErrorRow {
  readonly status: number;
  /** OpenAI's error type, which its SDKs and Anthropic's know. */
  readonly type: string;
  readonly fault: Fault;
  /** Value of `Retry-After` in seconds, where trying again later helps. */
  readonly retryAfterS?: number;
  /** What the client reads unless the thrower says more. */
  readonly message: string;
}

/** The table. 499 is for logs and metrics: nobody is left to read it. */
export const ERROR_TABLE = {
  request_malformed: {
    status: 400,
    type: "invalid_request_error",
    fault: "client",
    message: "The request cannot be forwarded as it is malformed",
  },
  request_body_broken: {
    status: 400,
    type: "invalid_request_error",
    fault: "client",
    message: "The request body ended early or broke its framing",
  },
  api_key_missing: {
    status: 401,
    type: "authentication_error",
    fault: "client",
    message: "The request has no API key: send it as a bearer token or in" +
      " x-api-key",
  },
  api_key_invalid: {
    status: 401,
    type: "authentication_error",
    fault: "client",
    message: "The API key is unknown or has expired",
  },
  model_forbidden: {
    status: 403,
    type: "permission_error",
    fault: "client",
    message: "The API key may not be used for this model",
  },
  model_unknown: {
    status: 404,
    type: "not_found_error",
    fault: "client",
    message: "No endpoint serves the requested model",
  },
  body_too_slow: {
    status: 408,
    type: "invalid_request_error",
    fault: "client",
    message: "The request body made no progress within timeouts.body",
  },
  body_too_large: {
    status: 413,
    type: "invalid_request_error",
    fault: "client",
    message: "The request body is larger than the gateway accepts",
  },
  endpoints_full: {
    status: 429,
    type: "rate_limit_error",
    fault: "gateway",
    retryAfterS: 1,
    message: "Every endpoint is at its limit of requests in flight",
  },
  queue_full: {
    status: 429,
    type: "rate_limit_error",
    fault: "gateway",
    retryAfterS: 2,
    message: "As many requests wait for an endpoint as queue.max allows",
  },
  session_queue_full: {
    status: 429,
    type: "rate_limit_error",
    fault: "client",
    retryAfterS: 2,
    message: "The session has as many requests as queue.session_max allows",
  },
  rate_limited: {
    status: 429,
    type: "rate_limit_error",
    fault: "client",
    retryAfterS: 1,
    message: "Requests come faster than the tenant's limit allows",
  },
  tenant_full: {
    status: 429,
    type: "rate_limit_error",
    fault: "client",
    retryAfterS: 1,
    message: "The tenant has as many requests at once as its limit allows",
  },
  tenant_queue_full: {
    status: 429,
    type: "rate_limit_error",
    fault: "client",
    retryAfterS: 2,
    message: "The tenant has as many waiting requests as its limit allows",
  },
  gateway_full: {
    status: 429,
    type: "rate_limit_error",
    fault: "gateway",
    retryAfterS: 1,
    message: "The gateway has as many requests as limits.requests allows",
  },
  client_gone: {
    status: 499,
    type: "client_closed_request",
    fault: "client",
    message: "The client went away before the answer was complete",
  },
  internal_error: {
    status: 500,
    type: "server_error",
    fault: "gateway",
    message: "The gateway failed to handle the request",
  },
  upstream_unreachable: {
    status: 502,
    type: "server_error",
    fault: "upstream",
    message: "The endpoint could not be connected to",
  },
  upstream_reset: {
    status: 502,
    type: "server_error",
    fault: "upstream",
    message: "The endpoint closed the connection before its answer was whole",
  },
  upstream_malformed: {
    status: 502,
    type: "server_error",
    fault: "upstream",
    message: "The endpoint answered with something that is not HTTP/1.1",
  },
  sniff_memory_full: {
    status: 503,
    type: "service_unavailable_error",
    fault: "gateway",
    retryAfterS: 1,
    message: "Bodies of other requests fill limits.sniff_memory",
  },
  queue_timeout: {
    status: 503,
    type: "service_unavailable_error",
    fault: "gateway",
    retryAfterS: 5,
    message: "No endpoint had room for the request within timeouts.queue",
  },
  gateway_stopping: {
    status: 503,
    type: "service_unavailable_error",
    fault: "gateway",
    retryAfterS: 1,
    message: "The gateway is stopping and gave the request up",
  },
  no_eligible_endpoint: {
    status: 503,
    type: "service_unavailable_error",
    fault: "gateway",
    retryAfterS: 5,
    message: "No endpoint can take the request",
  },
  upstream_connect_timeout: {
    status: 504,
    type: "server_error",
    fault: "upstream",
    message: "Connecting to the endpoint took longer than timeouts.connect",
  },
  upstream_first_byte_timeout: {
    status: 504,
    type: "server_error",
    fault: "upstream",
    message: "The endpoint sent nothing within timeouts.first_byte",
  },
  upstream_idle_timeout: {
    status: 504,
    type: "server_error",
    fault: "upstream",
    message: "The endpoint fell silent for longer than timeouts.idle",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** A stable name of an error. */
export type ErrorCode = keyof typeof ERROR_TABLE;

/** An expected failure that the gateway answers with a row of the table. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  /** The request parameter at fault, as in OpenAI's error object. */
  readonly param: string | null;
  /** Value of `Retry-After` in seconds; that of the row unless known better. */
  readonly retryAfterS: number | undefined;

  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      param?: string;
      retryAfterS?: number;
      cause?: unknown;
    } = {},
  ) {
    super(
      options.message ?? ERROR_TABLE[code].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.param = options.param ?? null;
    this.retryAfterS = options.retryAfterS ?? this.row.retryAfterS;
  }

  /** The row of this error's code. */
  get row(): ErrorRow {
    return ERROR_TABLE[this.code];
  }
}

/** An expected failure as it is, anything else as `internal_error`. */
export function asGatewayError(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError("internal_error", { cause });
}
