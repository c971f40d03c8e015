/**
 * A request from the text of a file: HTTP/1.1 as it was on the wire, or
 * written by hand, or a JSON body alone.
 *
 * Invariant: nothing is passed over. A line that is no header is an error, and
 * a body whose length is not as declared is told.
 *
 * @module
 */
import { isBlankCode } from "../../core/bytes.ts";
import type { Header, RequestHead } from "../../core/request.ts";
import { ChunkedDecoder } from "../../upstream/chunked_decoder.ts";

/** What a file holds. */
export interface ParsedRequest {
  /** `undefined` when there is a body alone. */
  readonly head?: RequestHead;
  readonly body: Uint8Array | undefined;
  readonly isChunked?: boolean;
  /** What was mended, one sentence each. */
  readonly notes?: readonly string[];
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Longest head that is read: servers take 64 KiB or so. */
const HEAD_BYTES_MAX = 1_048_576;

/** The request line (RFC 9112, 3). */
const REQUEST_LINE = /^([!-~]+) ([^ ]+) HTTP\/1\.[01]$/;

/** A field (RFC 9112, 5): a token, and a value without blanks around it. */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/s;

/** What JSON begins with that is a document of an API. */
const JSON_STARTS: ReadonlySet<string> = new Set(["{", "["]);

/** A header from its text, or `undefined` when it is none. */
export function headerOf(text: string): Header | undefined {
  const [, name, value] = FIELD.exec(text) ?? [];
  if (name === undefined || value === undefined) return undefined;
  if (/[\0\r\n]/.test(value)) return undefined;
  // Values are bytes; those of text are its UTF-8.
  const isLatin1 = [...value].every((one) => (one.codePointAt(0) ?? 0) < 256);
  return [
    name.toLowerCase(),
    isLatin1 ? value : latin1Text(new TextEncoder().encode(value)),
  ];
}

/**
 * @param name Of the file, for errors.
 * @throws {Error} that says what cannot be read.
 */
export function parseRequest(bytes: Uint8Array, name: string): ParsedRequest {
  const { lines, bodyAt } = headLines(bytes);
  const [first = "", ...fields] = lines;
  const [, method, target] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) {
    if (looksLikeJson(bytes)) return { body: bytes };
    throw new Error(
      `Cannot read request file "${name}": it must begin with a line such as` +
        ' "POST /v1/chat/completions HTTP/1.1", or be a JSON body',
    );
  }
  const headers = fields.map((line, at) => {
    const header = headerOf(line);
    if (header !== undefined) return header;
    throw new Error(
      `Cannot read request file "${name}": line ${at + 2} is no header`,
    );
  });
  const head = { method, target, headers };
  const rest = bytes.slice(bodyAt);
  return { head, ...bodyOf(rest, headers, name) };
}

/** The lines up to the empty one, and where the body begins. */
function headLines(bytes: Uint8Array): { lines: string[]; bodyAt: number } {
  const lines: string[] = [];
  let at = 0;
  while (at < bytes.length && at < HEAD_BYTES_MAX) {
    const found = bytes.indexOf(LINE_FEED, at);
    const next = found < 0 ? bytes.length : found + 1;
    let end = found < 0 ? bytes.length : found;
    if (end > at && bytes[end - 1] === CARRIAGE_RETURN) end--;
    if (end === at && lines.length > 0) return { lines, bodyAt: next };
    if (end > at) lines.push(latin1Text(bytes.subarray(at, end)));
    at = next;
  }
  return { lines, bodyAt: at };
}

function looksLikeJson(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES_MAX));
  return JSON_STARTS.has(text.trimStart().charAt(0));
}

/** The body as far as its framing says, or as it is where that is wrong. */
function bodyOf(
  rest: Uint8Array,
  headers: readonly Header[],
  name: string,
): Omit<ParsedRequest, "head"> {
  const value = (wanted: string) =>
    headers.find(([name]) => name === wanted)?.[1];
  if (value("transfer-encoding")?.toLowerCase() === "chunked") {
    return { body: unchunked(rest, name), isChunked: true };
  }
  const declared = value("content-length");
  if (declared === undefined) {
    const body = withoutLineEnd(rest);
    return { body: body.length === 0 ? undefined : body };
  }
  // What is no number is for the check of the head to refuse.
  const length = /^\d{1,15}$/.test(declared) ? Number(declared) : rest.length;
  if (rest.length < length) {
    return {
      body: rest,
      notes: [
        `The body has ${rest.length} bytes and declares ${length}: a client` +
        " that ends there is answered with request_body_broken",
      ],
    };
  }
  const extra = withoutLineEnd(rest).length - length;
  return {
    body: rest.slice(0, length),
    notes: extra <= 0 ? [] : [
      `The body declares ${length} bytes: ${extra} more are another request`,
    ],
  };
}

/** Editors end files with a line of their own. */
function withoutLineEnd(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && isBlankCode(bytes[end - 1] ?? 0)) end--;
  return bytes.slice(0, end);
}

function unchunked(rest: Uint8Array, name: string): Uint8Array {
  const decoder = new ChunkedDecoder();
  const bytes = rest.slice();
  try {
    decoder.decode(bytes, 0, bytes.length);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read the chunks of file "${name}": ${reason}`);
  }
  if (!decoder.ended) {
    throw new Error(
      `Cannot read the chunks of file "${name}": the last one is missing`,
    );
  }
  return bytes.slice(decoder.outStart, decoder.outEnd);
}

/** Bytes as code units, as values of headers are. */
function latin1Text(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
