/**
 * Requests as text, one character a byte.
 *
 * Invariant: nothing is added that the caller does not see here; a body is
 * UTF-8 when it is given as text and untouched when it is given as bytes.
 *
 * @module
 */
import { latin1Text } from "./raw_client.ts";

const encoder = new TextEncoder();

/** A body as text, to be encoded as UTF-8, or as bytes. */
export type Body = string | Uint8Array;

/** A request without a body; extra header lines without CRLF. */
export function bare(
  method: string,
  target: string,
  headers: readonly string[] = [],
): string {
  const lines = [`${method} ${target} HTTP/1.1`, "Host: gateway", ...headers];
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** A request with a JSON body and its length. */
export function post(
  target: string,
  body: Body,
  headers: readonly string[] = [],
): string {
  const raw = rawBody(body);
  return bare("POST", target, [
    ...withType(headers),
    `Content-Length: ${raw.length}`,
  ]) + raw;
}

/** A request with a JSON body in chunks; empty chunks are left out. */
export function chunkedPost(
  target: string,
  chunks: readonly Body[],
  headers: readonly string[] = [],
): string {
  let text = bare("POST", target, [
    ...withType(headers),
    "Transfer-Encoding: chunked",
  ]);
  for (const chunk of chunks) {
    const raw = rawBody(chunk);
    if (raw.length > 0) text += `${raw.length.toString(16)}\r\n${raw}\r\n`;
  }
  return `${text}0\r\n\r\n`;
}

function rawBody(body: Body): string {
  return latin1Text(typeof body === "string" ? encoder.encode(body) : body);
}

/** JSON unless the caller says otherwise. */
function withType(headers: readonly string[]): readonly string[] {
  return headers.some((line) => /^content-type:/i.test(line))
    ? headers
    : ["Content-Type: application/json", ...headers];
}
