/**
 * The request that `tryst check` is to explain, from the command line or from
 * a file.
 *
 * A file is what was seen on the wire or written by hand, so what is slightly
 * wrong with its framing is told and mended; what cannot be read is an error.
 *
 * Invariant: the head is what a listener would hand on: lower-case names in
 * order, repeated fields joined (RFC 9110, 5.2).
 *
 * @module
 */
import type { Header, RequestHead } from "../../core/request.ts";
import type { ParsedArgs } from "../args.ts";
import { readBytes } from "./explain_file.ts";
import { headerOf, parseRequest } from "./explain_parse.ts";
import type { Flag } from "../flags.ts";

/** A request to be explained. */
export interface ExplainedRequest {
  readonly head: RequestHead;
  readonly body: Uint8Array | undefined;
  /** Whether the body comes in chunks, without a length. */
  readonly isChunked: boolean;
  /** What was mended, one sentence each. */
  readonly notes: readonly string[];
}

/** What a request is sent to that says nothing else. */
const TARGET_INITIAL = "/v1/chat/completions";

const REQUEST_FLAG = flag("--request", {
  value: "FILE",
  doc: "Explain the request in a file: HTTP/1.1 or a JSON body, - for stdin",
});
const METHOD_FLAG = flag("-X", {
  value: "METHOD",
  doc: "Method of the request to explain, POST by default",
});
const PATH_FLAG = flag("--path", {
  value: "TARGET",
  doc: `Path and query of the request to explain, ${TARGET_INITIAL} by default`,
});
const HEADER_FLAG = flag("--header", {
  value: "NAME:VALUE",
  isList: true,
  doc: "Header of the request to explain; repeatable",
});
const DATA_FLAG = flag("--data", {
  value: "TEXT|@FILE",
  doc: "Body of the request to explain",
});

/** The flags that describe a request. */
export const REQUEST_FLAGS: readonly Flag[] = [
  REQUEST_FLAG,
  METHOD_FLAG,
  PATH_FLAG,
  HEADER_FLAG,
  DATA_FLAG,
];

/**
 * Reads the request that the arguments describe.
 *
 * Rejects with an `Error` that says what cannot be read.
 *
 * @returns `undefined` when they describe none.
 */
export async function readRequest(
  args: ParsedArgs,
): Promise<ExplainedRequest | undefined> {
  if (!REQUEST_FLAGS.some(({ name }) => args.values.has(name))) {
    return undefined;
  }
  const value = ({ name }: Flag) => args.values.get(name)?.[0];
  const path = value(REQUEST_FLAG);
  const data = value(DATA_FLAG);
  if (path !== undefined && data !== undefined) {
    throw new Error(
      'Cannot use "--request" and "--data" together: either has a body',
    );
  }
  const own = (args.values.get(HEADER_FLAG.name) ?? []).map(ownHeader);
  const request = path === undefined
    ? { body: data === undefined ? undefined : await dataOf(data) }
    : parseRequest(await readBytes(path, "request"), path);
  const { head, body, isChunked = false, notes = [] } = request;
  const headers = joined([...head?.headers ?? [], ...own]);
  return {
    head: {
      method: value(METHOD_FLAG) ?? head?.method ?? "POST",
      target: value(PATH_FLAG) ?? head?.target ?? TARGET_INITIAL,
      headers: framed(headers, { body, isChunked }),
    },
    body,
    isChunked,
    notes,
  };
}

function flag(
  name: string,
  rest: Pick<Flag, "value" | "doc"> & Partial<Flag>,
): Flag {
  return { name, env: undefined, isList: false, ...rest };
}

function ownHeader(text: string): Header {
  const header = headerOf(text);
  if (header !== undefined) return header;
  throw new Error(
    `Cannot use "--header" as it must be NAME:VALUE: current value is ${
      JSON.stringify(text)
    }`,
  );
}

async function dataOf(data: string): Promise<Uint8Array> {
  return data.startsWith("@")
    ? await readBytes(data.slice(1), "body")
    : new TextEncoder().encode(data);
}

/** Headers as listeners hand them on. */
function joined(headers: readonly Header[]): Header[] {
  const values = new Map<string, string>();
  for (const [name, value] of headers) {
    const known = values.get(name);
    const separator = name === "cookie" ? "; " : ", ";
    const text = known === undefined ? value : known + separator + value;
    values.set(name, text);
  }
  return [...values].sort(([one], [other]) => one < other ? -1 : 1);
}

/** With the framing that any client would have sent. */
function framed(
  headers: readonly Header[],
  { body, isChunked }: Pick<ExplainedRequest, "body" | "isChunked">,
): Header[] {
  const has = (wanted: string) => headers.some(([name]) => name === wanted);
  const added: Header[] = [];
  if (!has("host")) added.push(["host", "localhost"]);
  if (body !== undefined && !isChunked && !has("content-length")) {
    added.push(["content-length", String(body.length)]);
  }
  if (body !== undefined && !has("content-type")) {
    added.push(["content-type", "application/json"]);
  }
  return joined([...headers, ...added]);
}
