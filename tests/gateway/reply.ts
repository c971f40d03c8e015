/**
 * Answers read strictly, as a careful client would.
 *
 * Invariant: an answer counts as whole only after the end that its own framing
 * states; one that merely stops never does.
 *
 * @module
 */

/** An answer as it came; all text is latin-1. */
export interface Reply {
  readonly status: number;
  /** Field lines in order, names in lower case. */
  readonly headerLines: readonly string[];
  /** First value of each field by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body without its framing, as far as it came. */
  readonly body: string;
  /** Whether the end that the framing states has come. */
  readonly isWhole: boolean;
  /** All of it, interim answers included, as it came. */
  readonly raw: string;
}

/** A body as far as it came. */
interface ReadBody {
  readonly body: string;
  /** Offset after the end, or `undefined` while there is none. */
  readonly end: number | undefined;
}

/** Statuses without a body (RFC 9112, 6.3). */
const BODYLESS: ReadonlySet<number> = new Set([204, 304]);

/**
 * The first answer in `text`, interim ones skipped; `undefined` while its head
 * is not there.
 */
export function parseReply(
  text: string,
  isHead: boolean,
): { readonly reply: Reply; readonly end: number } | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [statusLine = "", ...lines] = text.slice(0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(statusLine)?.[1]);
  if (!(status >= 100)) {
    throw new Error(`Cannot read the status line "${statusLine}"`);
  }
  const bodyAt = headEnd + 4;
  if (status < 200) {
    const next = parseReply(text.slice(bodyAt), isHead);
    if (next === undefined) return undefined;
    const raw = text.slice(0, bodyAt) + next.reply.raw;
    return { reply: { ...next.reply, raw }, end: next.end + bodyAt };
  }
  const headers = new Map<string, string>();
  const headerLines = lines.map((line) => {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!headers.has(name)) headers.set(name, value);
    return `${name}: ${value}`;
  });
  const { body, end } = isHead || BODYLESS.has(status)
    ? { body: "", end: bodyAt }
    : readBody(text, bodyAt, headers);
  const isWhole = end !== undefined;
  return {
    reply: {
      status,
      headerLines,
      headers,
      body,
      isWhole,
      raw: text.slice(0, end),
    },
    end: end ?? text.length,
  };
}

function readBody(
  text: string,
  bodyAt: number,
  headers: ReadonlyMap<string, string>,
): ReadBody {
  if (headers.get("transfer-encoding") === "chunked") {
    return readChunks(text, bodyAt);
  }
  const length = headers.get("content-length");
  if (length === undefined) {
    throw new Error("Cannot read a body without Content-Length or chunks");
  }
  const end = bodyAt + Number(length);
  return {
    body: text.slice(bodyAt, end),
    end: text.length >= end ? end : undefined,
  };
}

function readChunks(text: string, bodyAt: number): ReadBody {
  let body = "";
  for (let at = bodyAt;;) {
    const lineEnd = text.indexOf("\r\n", at);
    if (lineEnd < 0) return { body, end: undefined };
    const size = parseInt(text.slice(at, lineEnd), 16);
    if (!(size >= 0)) {
      throw new Error(
        `Cannot read the chunk size "${text.slice(at, lineEnd)}"`,
      );
    }
    if (size === 0) {
      const end = lineEnd + 4;
      return { body, end: text.length >= end ? end : undefined };
    }
    const start = lineEnd + 2;
    body += text.slice(start, start + size);
    at = start + size + 2;
    if (at > text.length) return { body, end: undefined };
  }
}
