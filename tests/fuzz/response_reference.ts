/**
 * What a response means, worked out the slow and obvious way.
 *
 * The whole response is one string, cut at line ends and matched by regular
 * expressions. The one subtlety is a response that is cut short: it is
 * malformed when no continuation could mend it, and reset otherwise.
 *
 * Invariant: nothing here is shared with the client.
 *
 * @module
 */

/** What a client must make of a response and the end of its connection. */
export type Outcome =
  | { readonly kind: "malformed" | "reset" }
  | {
    readonly kind: "response";
    readonly status: number;
    readonly reason: string;
    readonly headers: readonly (readonly [string, string])[];
    /** Latin-1; `undefined` where a response has none. */
    readonly body: string | undefined;
    /** Whether the connection may carry another request. */
    readonly isKept: boolean;
  };

interface Head {
  readonly minor: string;
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly bodyAt: number;
}

const MALFORMED = { kind: "malformed" } as const;
const RESET = { kind: "reset" } as const;
const HEAD_LENGTH_MAX = 65_536;
const FIELDS_MAX = 256;
const INTERIM_MAX = 8;

const STATUS_LINE =
  /^HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
const SIZE = /^([0-9a-f]{1,12})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?\r\n/i;
const SIZE_BEGUN =
  /^(?:[0-9a-f]{1,12}(?:\r|[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*\r?)?)?)?$/i;
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n/;
const TRAILER_BEGUN =
  /^(?:\r|(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+(?::[\t\x20-\x7e\x80-\xff]*\r?)?)?)$/;

/** The outcome of `text`, latin-1, in response to a request of `method`. */
export function referenceOutcome(text: string, method: string): Outcome {
  let at = 0;
  for (let interims = 0;; interims++) {
    const head = readHead(text.slice(at));
    if ("kind" in head) return head;
    const framing = readFraming(head);
    if (framing === undefined || interims > INTERIM_MAX) return MALFORMED;
    const bodyAt = at + head.bodyAt;
    if (head.status >= 200) {
      return readBody(text.slice(bodyAt), head, { ...framing, method });
    }
    const isFramed = framing.length !== undefined || framing.isChunked;
    if (head.status === 101 || isFramed || interims === INTERIM_MAX) {
      return MALFORMED;
    }
    at = bodyAt;
  }
}

function readHead(text: string): Head | typeof MALFORMED | typeof RESET {
  const within = text.slice(0, HEAD_LENGTH_MAX);
  const lines = within.split("\n");
  const unfinished = lines.pop();
  let bodyAt = 0;
  let status: RegExpExecArray | null = null;
  const headers: [string, string][] = [];
  for (const line of lines) {
    bodyAt += line.length + 1;
    if (!line.endsWith("\r")) return MALFORMED;
    const content = line.slice(0, -1);
    if (status === null) {
      status = STATUS_LINE.exec(content);
      if (status === null) return MALFORMED;
    } else if (content === "") {
      const [, minor = "", digits = "", reason = ""] = status;
      return { minor, status: Number(digits), reason, headers, bodyAt };
    } else {
      const field = FIELD.exec(content);
      if (field === null || headers.length === FIELDS_MAX) return MALFORMED;
      const [, name = "", value = ""] = field;
      headers.push([name.toLowerCase(), value.replace(/^[ \t]+|[ \t]+$/g, "")]);
    }
  }
  const isOver = text.length >= HEAD_LENGTH_MAX && unfinished !== undefined;
  return isOver ? MALFORMED : RESET;
}

interface ReferenceFraming {
  readonly length: number | undefined;
  readonly isChunked: boolean;
}

function readFraming(head: Head): ReferenceFraming | undefined {
  const lengths = valuesOf(head, "content-length")
    .flatMap((value) => value.split(","))
    .map((value) => value.replace(/^[ \t]+|[ \t]+$/g, ""));
  if (lengths.some((value) => !/^\d{1,15}$/.test(value))) return undefined;
  if (new Set(lengths.map(Number)).size > 1) return undefined;
  const codings = valuesOf(head, "transfer-encoding");
  const isChunked = codings.length > 0;
  if (codings.length > 1) return undefined;
  if (isChunked && codings[0]?.toLowerCase() !== "chunked") return undefined;
  if (isChunked && (lengths.length > 0 || head.minor === "0")) return undefined;
  const [length] = lengths;
  return {
    length: length === undefined ? undefined : Number(length),
    isChunked,
  };
}

function valuesOf(head: Head, wanted: string): string[] {
  return head.headers.filter(([name]) => name === wanted).map(([, v]) => v);
}

function readBody(
  rest: string,
  head: Head,
  framing: ReferenceFraming & { readonly method: string },
): Outcome {
  const { status, reason } = head;
  const { length, isChunked, method } = framing;
  const saysClose = valuesOf(head, "connection").some((value) =>
    value.toLowerCase().split(",").some((token) => token.trim() === "close")
  );
  const isKeptAlive = head.minor === "1" && !saysClose;
  const headers = withOneLength(head, length);
  const response = { kind: "response", status, reason, headers } as const;
  if (method === "HEAD" || status === 204 || status === 304) {
    const isOdd = status === 204 && (isChunked || (length ?? 0) > 0);
    const isKept = isKeptAlive && rest === "" && !isOdd;
    return { ...response, body: undefined, isKept };
  }
  if (isChunked) {
    const chunks = readChunks(rest);
    if ("kind" in chunks) return chunks;
    const isKept = isKeptAlive && chunks.after === "";
    return { ...response, body: chunks.body, isKept };
  }
  if (length === undefined) return { ...response, body: rest, isKept: false };
  if (rest.length < length) return RESET;
  const isKept = isKeptAlive && rest.length === length;
  return { ...response, body: rest.slice(0, length), isKept };
}

function withOneLength(
  head: Head,
  length: number | undefined,
): Head["headers"] {
  const values = valuesOf(head, "content-length");
  if (values.length < 2 && !values[0]?.includes(",")) return head.headers;
  return [
    ...head.headers.filter(([name]) => name !== "content-length"),
    ["content-length", String(length)],
  ];
}

function readChunks(
  text: string,
): { body: string; after: string } | typeof MALFORMED | typeof RESET {
  let body = "";
  for (;;) {
    const line = SIZE.exec(text);
    if (line === null) return SIZE_BEGUN.test(text) ? RESET : MALFORMED;
    text = text.slice(line[0].length);
    const size = Number.parseInt(line[1] ?? "", 16);
    if (size === 0) break;
    const end = text.slice(size, size + 2);
    if (!"\r\n".startsWith(end)) return MALFORMED;
    if (end.length < 2) return RESET;
    body += text.slice(0, size);
    text = text.slice(size + 2);
  }
  while (!text.startsWith("\r\n")) {
    const trailer = TRAILER.exec(text);
    if (trailer === null) return TRAILER_BEGUN.test(text) ? RESET : MALFORMED;
    text = text.slice(trailer[0].length);
  }
  return { body, after: text.slice(2) };
}
