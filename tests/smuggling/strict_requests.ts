/**
 * Requests read as the strictest engine would: one reading, or an error.
 *
 * Invariant: every byte is accounted for. What follows the last whole request
 * is either the beginning of another one that breaks no rule yet, or an error.
 *
 * @module
 */

/** A request with exactly one reading. */
export interface StrictRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
}

/** What bytes of one connection amount to. */
export interface StrictReading {
  readonly requests: readonly StrictRequest[];
  /** Bytes read; more of the next request may come. */
  readonly end: number;
  /** Why the bytes after `end` can be no request; absent when they may be. */
  readonly problem?: string;
}

const REQUEST_LINE =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~\x80-\xff]+) HTTP\/1\.1$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

/** Reads latin-1 `text`, as it came over one connection. */
export function readStrictly(text: string): StrictReading {
  const requests: StrictRequest[] = [];
  let end = 0;
  try {
    for (;;) {
      const read = readOne(text, end);
      if (read === undefined) return { requests, end };
      requests.push(read.request);
      end = read.end;
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { requests, end, problem: error.message };
  }
}

/** @throws {SyntaxError} */
function readOne(
  text: string,
  from: number,
): { readonly request: StrictRequest; readonly end: number } | undefined {
  const headEnd = text.indexOf("\r\n\r\n", from);
  if (headEnd < 0) return undefined;
  const [line = "", ...lines] = text.slice(from, headEnd).split("\r\n");
  const [, method = "", target = ""] = REQUEST_LINE.exec(line) ??
    refuse(`a request line "${line}"`);
  const lengths: string[] = [];
  const codings: string[] = [];
  let hosts = 0;
  for (const field of lines) {
    const [, name = "", value = ""] = FIELD.exec(field) ??
      refuse(`a field "${field}"`);
    if (hasControl(value)) refuse(`a control byte in "${field}"`);
    const lower = name.toLowerCase();
    if (lower === "host") hosts += 1;
    else if (lower === "content-length") lengths.push(value);
    else if (lower === "transfer-encoding") codings.push(value);
    else if (lower === "upgrade") refuse("an upgrade");
  }
  if (hosts !== 1) refuse(`${hosts} hosts`);
  if (lengths.length + codings.length > 1) refuse("more than one framing");
  if (codings.some((coding) => coding !== "chunked")) refuse("another coding");
  const bodyAt = headEnd + 4;
  const body = codings.length > 0
    ? readChunks(text, bodyAt)
    : readLength(text, bodyAt, lengths[0] ?? "0");
  if (body === undefined) return undefined;
  return { request: { method, target, body: body.text }, end: body.end };
}

/** Whether there is a control character besides tabs. */
function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x7f || (code < 0x20 && code !== 0x09)) return true;
  }
  return false;
}

interface ReadBody {
  readonly text: string;
  readonly end: number;
}

function readLength(
  text: string,
  from: number,
  digits: string,
): ReadBody | undefined {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(digits)) refuse(`a length "${digits}"`);
  const end = from + Number(digits);
  return end > text.length ? undefined : { text: text.slice(from, end), end };
}

/** Chunks without extensions and trailers: the gateway passes on neither. */
function readChunks(text: string, from: number): ReadBody | undefined {
  let body = "";
  for (let at = from;;) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const digits = text.slice(at, lineEnd);
    if (!/^[0-9a-fA-F]{1,8}$/.test(digits)) refuse(`a chunk size "${digits}"`);
    const size = Number.parseInt(digits, 16);
    const start = lineEnd + 2;
    const end = start + size;
    if (text.length < end + 2) return undefined;
    if (text.slice(end, end + 2) !== "\r\n") refuse("a chunk without its end");
    body += text.slice(start, end);
    at = end + 2;
    if (size === 0) return { text: body, end: at };
  }
}

function refuse(what: string): never {
  throw new SyntaxError(what);
}
