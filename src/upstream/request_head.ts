/**
 * The head of a request as bytes (RFC 9112, sections 2.1, 3 and 5).
 *
 * Invariant: names, values and target go out unchanged as latin-1 bytes, names
 * in lower case, or nothing goes out at all: no value can end its line. The
 * one thing added is the framing of the body.
 *
 * @module
 */
import { NAME_BYTES, VALUE_BYTES } from "./field_text.ts";
import type { UpstreamRequest } from "./upstream_request.ts";

const CR = 0x0d;
const LF = 0x0a;
const TABULATOR = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;
const COLON = 0x3a;

/** The usual methods, in capitals; others are tokens too. */
const PLAIN_METHOD = /^[A-Z]+$/;

/** Tokens in lower case (RFC 9110, 5.6.2). */
const PLAIN_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** A target without blanks and controls, in ASCII. */
const PLAIN_TARGET = /^[!-~]+$/;

const encoder = new TextEncoder();

/**
 * Writes the head: all at once where it is plain ASCII, as it mostly is, since
 * reading the runtime's strings character by character is slow. Whatever is
 * not as expected afterwards is done again with care, which finds the fault.
 */
export function putHead(out: Uint8Array, request: UpstreamRequest): number {
  const { method, target, headers } = request;
  if (!PLAIN_TARGET.test(target)) return putHeadWithCare(out, request);
  let text = `${method} ${target} HTTP/1.1\r\n`;
  let lineCount = 1;
  for (const [name, value] of headers) {
    if (!isPlainName(name)) return putHeadWithCare(out, request);
    text += `${name}: ${value}\r\n`;
    lineCount++;
  }
  const { written } = encoder.encodeInto(text, out);
  const isPlain = written === text.length && PLAIN_METHOD.test(method) &&
    controlCount(out, written) === 2 * lineCount;
  if (!isPlain) return putHeadWithCare(out, request);
  const at = putFraming(out, written, request);
  out[at] = CR;
  out[at + 1] = LF;
  return at + 2;
}

/** Names that were found to be plain, and not those of framing. */
const plainNames = new Set<string>();

/** 1,024: far more than clients send; made-up ones are checked each time. */
const PLAIN_NAMES_MAX = 1_024;

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!PLAIN_NAME.test(name)) return false;
  refuseFraming(name);
  if (plainNames.size < PLAIN_NAMES_MAX) plainNames.add(name);
  return true;
}

/** Control bytes other than the tabulator: the line ends, and nothing else. */
function controlCount(bytes: Uint8Array, end: number): number {
  let count = 0;
  for (let at = 0; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if ((byte < SPACE && byte !== TABULATOR) || byte === DELETE) count++;
  }
  return count;
}

function putHeadWithCare(out: Uint8Array, request: UpstreamRequest): number {
  let at = putText(out, 0, request.method, NAME_BYTES_AS_IS);
  if (at === 0) throw new TypeError("Cannot send a request without a method");
  out[at++] = SPACE;
  const targetAt = at;
  at = putText(out, at, request.target, TARGET_BYTES);
  if (at === targetAt) {
    throw new TypeError("Cannot send a request without a target");
  }
  at = putText(out, at, " HTTP/1.1\r\n", ANY_BYTES);
  for (const [name, value] of request.headers) {
    refuseFraming(name);
    at = putField(out, at, name, value);
  }
  at = putFraming(out, at, request);
  out[at++] = CR;
  out[at++] = LF;
  return at;
}

function putField(
  out: Uint8Array,
  at: number,
  name: string,
  value: string,
): number {
  if (name.length === 0) {
    throw new TypeError("Cannot send a header without a name");
  }
  at = putText(out, at, name, NAME_BYTES);
  out[at++] = COLON;
  out[at++] = SPACE;
  at = putText(out, at, value, VALUE_BYTES);
  out[at++] = CR;
  out[at++] = LF;
  return at;
}

function putFraming(
  out: Uint8Array,
  at: number,
  { method, body, contentLength }: UpstreamRequest,
): number {
  if (body === undefined) {
    // RFC 9110, 8.6: methods that usually carry a body say that there is none.
    const isUsual = method === "POST" || method === "PUT" || method === "PATCH";
    return isUsual ? putField(out, at, "content-length", "0") : at;
  }
  const length = body instanceof Uint8Array ? body.length : contentLength;
  if (length === undefined) {
    return putField(out, at, "transfer-encoding", "chunked");
  }
  if (!Number.isSafeInteger(length) || length < 0) {
    throw new TypeError(
      `Cannot send a body of ${length} bytes: it must be a whole number`,
    );
  }
  return putField(out, at, "content-length", String(length));
}

function refuseFraming(name: string): void {
  if (name.length !== 14 && name.length !== 17) return;
  const lower = name.toLowerCase();
  if (lower === "content-length" || lower === "transfer-encoding") {
    throw new TypeError(
      `Cannot send the header "${lower}": the client frames the body itself`,
    );
  }
}

/** Writes `text` through `table`; a 0 in it refuses the character. */
function putText(
  out: Uint8Array,
  at: number,
  text: string,
  table: Uint8Array,
): number {
  for (let i = 0; i < text.length; i++) {
    const byte = table[text.charCodeAt(i)];
    if (!byte) {
      throw new TypeError(
        `Cannot send a request head with the character ${
          text.charCodeAt(i)
        } in ${table === TARGET_BYTES ? "its target" : "a name or value"}`,
      );
    }
    out[at++] = byte;
  }
  return at;
}

/** Every byte but 0 to itself: for text of this file's own. */
const ANY_BYTES: Uint8Array = Uint8Array.from({ length: 256 }, (_, i) => i);

/** Token bytes in their own case: methods are case-sensitive. */
const NAME_BYTES_AS_IS: Uint8Array = NAME_BYTES.map((to, i) => to && i);

/** No blanks and no control characters: they would end the request line. */
const TARGET_BYTES: Uint8Array = VALUE_BYTES.map((to, i) =>
  i <= SPACE ? 0 : to
);
