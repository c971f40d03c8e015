/**
 * The answer that a failure becomes, in the shape of the API that was asked.
 *
 * Invariant: this is the only place that turns a `GatewayError` into bytes for
 * a client, and `x-tryst-error` is present exactly when the gateway, not the
 * engine, wrote the body.
 *
 * @module
 */
import type { GatewayError } from "../core/error.ts";
import type { Header } from "../core/request.ts";
import type { Answer } from "./client_request.ts";
import { errorShape, isAnthropic } from "./error_shape.ts";

const encoder = new TextEncoder();

/** The error object in the shape of the API that `target` belongs to. */
function errorBody(
  { code, message, param, row: { status, type } }: GatewayError,
  target: string,
  requestId: string,
): unknown {
  return errorShape({ status, type, message, param, code }, {
    target,
    requestId,
  });
}

/** The whole answer to a request that failed before the engine answered. */
export function errorAnswer(
  error: GatewayError,
  target: string,
  requestId: string,
): Answer & { readonly body: Uint8Array } {
  const { row } = error;
  const headers: Header[] = [
    ["content-type", "application/json"],
    ["x-tryst-error", error.code],
  ];
  // What follows a head of two readings cannot be told from its body. On
  // Deno 2.9 the listener refuses those itself and leaves this to the client.
  if (error.code === "request_malformed") headers.push(["connection", "close"]);
  if (error.code === "api_key_missing") {
    headers.push(["www-authenticate", "Bearer"]);
  } else if (error.code === "api_key_invalid") {
    // RFC 6750, 3.1; it says the same of every key that is not accepted.
    headers.push(["www-authenticate", 'Bearer error="invalid_token"']);
  }
  if (error.retryAfterS !== undefined) {
    headers.push(["retry-after", String(error.retryAfterS)]);
  }
  const body = JSON.stringify(errorBody(error, target, requestId));
  return { status: row.status, headers, body: encoder.encode(body) };
}

/** The last event of a broken stream; Anthropic's events carry their type. */
export function errorEvent(
  error: GatewayError,
  target: string,
  requestId: string,
): string {
  return jsonEvent(errorBody(error, target, requestId), target, true);
}

/** One event of a stream; Anthropic's name the kind of theirs. */
export function jsonEvent(
  data: unknown,
  target: string,
  isError: boolean,
): string {
  const name = isError && isAnthropic(target) ? "event: error\n" : "";
  return `${name}data: ${JSON.stringify(data)}\n\n`;
}
