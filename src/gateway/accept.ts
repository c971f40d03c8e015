/**
 * What a request's head must keep for the gateway to forward it.
 *
 * The listener has parsed the head already, but lets through what two parsers
 * could read in two ways. Such a request is refused, never repaired.
 *
 * Invariant: a head that passes has one reading of its body's length, one
 * host and a target that starts where the client's did (RFC 9112, 3.2, 6.3).
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import type { RequestHead } from "../core/request.ts";

/**
 * Characters of a host and port (RFC 3986, 3.2). Anything else, a slash or a
 * blank above all, moves the point where a reader finds the path.
 */
const HOST = /^[A-Za-z0-9._~%!$&'()*+,;=:[\]-]*$/;

/** A method is a token (RFC 9110, 5.6.2). */
const METHOD = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/**
 * CONNECT asks for a tunnel to anywhere, and TRACE for the request as it came,
 * credentials of the engine included (RFC 9110, 9.3.8).
 */
const UNFORWARDED: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** @throws {GatewayError} `request_malformed`. */
export function checkHead(head: RequestHead): void {
  if (UNFORWARDED.has(head.method) || !METHOD.test(head.method)) {
    refuse("The method cannot be forwarded");
  }
  if (!head.target.startsWith("/") && head.target !== "*") {
    refuse("The request target must be a path");
  }
  let hasLength = false;
  let hasCoding = false;
  let hasHost = false;
  for (const [name, value] of head.headers) {
    if (name === "host") {
      if (hasHost) refuse("There must be one host");
      hasHost = true;
      if (!HOST.test(value) || value.includes(",")) refuse("Host is malformed");
    } else if (name === "content-length") {
      hasLength = true;
      if (!isOneLength(value)) refuse("Content-Length is malformed");
    } else if (name === "transfer-encoding") {
      hasCoding = true;
      if (value.trim().toLowerCase() !== "chunked") {
        refuse("Transfer-Encoding must be chunked");
      }
    }
  }
  if (hasLength && hasCoding) {
    refuse("Content-Length and Transfer-Encoding exclude each other");
  }
}

/** One decimal number, or the same number repeated (RFC 9110, 8.6). */
function isOneLength(value: string): boolean {
  const parts = value.split(",").map((part) => part.trim());
  return /^[0-9]{1,15}$/.test(parts[0] ?? "") &&
    parts.every((part) => part === parts[0]);
}

function refuse(message: string): never {
  throw new GatewayError("request_malformed", { message });
}
