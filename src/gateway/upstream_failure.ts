/**
 * What the upstream client throws, as a row of the error table.
 *
 * Invariant: every kind of upstream failure has one code, and a failure the
 * client caused (its body broke off, it went away) is never the endpoint's.
 *
 * @module
 */
import { type ErrorCode, GatewayError } from "../core/error.ts";
import { UpstreamError, type UpstreamErrorKind } from "../upstream/client.ts";

const CODES: Readonly<Record<UpstreamErrorKind, ErrorCode>> = {
  "unreachable": "upstream_unreachable",
  "connect_timeout": "upstream_connect_timeout",
  "first_byte_timeout": "upstream_first_byte_timeout",
  "idle_timeout": "upstream_idle_timeout",
  "reset": "upstream_reset",
  "malformed": "upstream_malformed",
  "aborted": "client_gone",
  "request_body": "request_body_broken",
};

/** The error to answer with; anything unexpected is `internal_error`. */
export function asUpstreamFailure(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  if (!(cause instanceof UpstreamError)) {
    return new GatewayError("internal_error", { cause });
  }
  if (cause.cause instanceof GatewayError) return cause.cause;
  return new GatewayError(CODES[cause.kind], { cause });
}
