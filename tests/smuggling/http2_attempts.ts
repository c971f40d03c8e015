/**
 * Attempts over HTTP/2, whose requests become HTTP/1.1 on their way to the
 * engine: what one version takes for a value is framing in the other.
 *
 * Invariant: each names the rule it breaks or the attack it is taken from.
 *
 * @module
 */
import { HIDDEN, TARGET } from "./case.ts";
import type { Fields } from "./http2_frames.ts";

/** One attempt. */
export interface Http2Attempt {
  readonly name: string;
  readonly source: string;
  readonly fields: Fields;
  readonly body: string;
  /** `safe`: refused, or forwarded with exactly its own body. */
  readonly wanted: "refused" | "forwarded" | "safe";
}

const METHOD: Fields = [[":method", "POST"]];
const PATH: Fields = [[":path", TARGET]];
const SCHEME: Fields = [[":scheme", "https"]];
const AUTHORITY: Fields = [[":authority", "gateway"]];
const HEAD: Fields = [...METHOD, ...PATH, ...SCHEME, ...AUTHORITY];

/** The attack of a desynchronized HTTP/2 front. */
const DESYNC = "HTTP/2: The Sequel is Always Worse, 2021";

type Row = readonly [
  name: string,
  source: string,
  wanted: Http2Attempt["wanted"],
  fields: Fields,
  body?: string,
];

const PSEUDO: readonly Row[] = [
  ["a clean request", "RFC 9113, 8.1", "forwarded", HEAD, "12345"],
  ["no method", "RFC 9113, 8.3.1", "refused", [
    ...PATH,
    ...SCHEME,
    ...AUTHORITY,
  ]],
  ["no path", "RFC 9113, 8.3.1", "refused", [
    ...METHOD,
    ...SCHEME,
    ...AUTHORITY,
  ]],
  ["an empty path", "RFC 9113, 8.3.1", "refused", [
    ...METHOD,
    [":path", ""],
    ...SCHEME,
    ...AUTHORITY,
  ]],
  ["two methods", "RFC 9113, 8.3", "refused", [...HEAD, [":method", "GET"]]],
  ["two paths", "RFC 9113, 8.3", "refused", [...HEAD, [":path", "/hidden"]]],
  ["two schemes", "RFC 9113, 8.3", "refused", [...HEAD, [":scheme", "http"]]],
  ["two authorities", "RFC 9113, 8.3", "refused", [...HEAD, ...AUTHORITY]],
  ["a pseudo-header that is none", "RFC 9113, 8.3", "refused", [
    ...HEAD,
    [":evil", "1"],
  ]],
  ["a response's pseudo-header", "RFC 9113, 8.3", "refused", [
    ...HEAD,
    [":status", "200"],
  ]],
  ["a pseudo-header behind a field", "RFC 9113, 8.3", "refused", [
    ...METHOD,
    ...PATH,
    ...SCHEME,
    ["x-a", "1"],
    ...AUTHORITY,
  ]],
  ["another scheme", "RFC 9113, 8.3.1", "safe", [
    ...METHOD,
    ...PATH,
    [":scheme", "http"],
    ...AUTHORITY,
  ]],
  ["a scheme with a request line", DESYNC, "refused", [
    ...METHOD,
    ...PATH,
    [":scheme", `https://gateway${TARGET} HTTP/1.1\r\nx: `],
    ...AUTHORITY,
  ]],
];

const METHODS: readonly Row[] = [
  ["a request line in the method", DESYNC, "refused", [
    [":method", `GET ${TARGET} HTTP/1.1\r\nHost: x\r\n\r\nGET`],
    ...PATH,
    ...SCHEME,
    ...AUTHORITY,
  ]],
  ["a blank in the method", DESYNC, "refused", [
    [":method", "GET /hidden-0000"],
    ...PATH,
    ...SCHEME,
    ...AUTHORITY,
  ]],
  ["CONNECT", "RFC 9113, 8.5", "refused", [
    [":method", "CONNECT"],
    ...AUTHORITY,
  ]],
  ["CONNECT with a path", "RFC 9113, 8.5", "refused", [
    [":method", "CONNECT"],
    ...PATH,
    ...SCHEME,
    ...AUTHORITY,
  ]],
];

const PATHS: readonly Row[] = [
  `${TARGET} HTTP/1.1\r\nHost: x\r\n\r\n${HIDDEN}`,
  `${TARGET} HTTP/1.1`,
  `${TARGET}\r\nx: y`,
  `${TARGET}\nx: y`,
  `${TARGET}\0`,
  `${TARGET}\t`,
].map((path, at): Row => [
  `a path that goes on, ${at + 1}`,
  DESYNC,
  "refused",
  [...METHOD, [":path", path], ...SCHEME, ...AUTHORITY],
]);

const AUTHORITIES: readonly Row[] = [
  ["a host that is another", "RFC 9113, 8.3.1", "refused", [
    ...HEAD,
    ["host", "evil"],
  ]],
  ["the same host", "RFC 9113, 8.3.1", "forwarded", [
    ...HEAD,
    ["host", "gateway"],
  ]],
  ["two hosts", "RFC 9110, 7.2", "refused", [
    ...HEAD,
    ["host", "gateway"],
    ["host", "evil"],
  ]],
  ["an authority with a user", "RFC 9113, 8.3.1", "refused", [
    ...METHOD,
    ...PATH,
    ...SCHEME,
    [":authority", "gateway@evil"],
  ]],
  ["an authority with a path", DESYNC, "refused", [
    ...METHOD,
    ...PATH,
    ...SCHEME,
    [":authority", "gateway/hidden?"],
  ]],
  ["an authority with a line", DESYNC, "refused", [
    ...METHOD,
    ...PATH,
    ...SCHEME,
    [":authority", "gateway\r\nx: y"],
  ]],
];

const FIELDS: readonly Row[] = ([
  ["H2.TE", "CVE-2021-33193", "transfer-encoding", "chunked"],
  ["H2.TE, identity", "RFC 9113, 8.2.2", "transfer-encoding", "identity"],
  ["a connection field", "RFC 9113, 8.2.2", "connection", "x-a"],
  ["keep-alive", "RFC 9113, 8.2.2", "keep-alive", "1"],
  ["proxy-connection", "RFC 9113, 8.2.2", "proxy-connection", "close"],
  ["upgrade", "RFC 9113, 8.2.2", "upgrade", "websocket"],
  ["te of something else", "RFC 9113, 8.2.2", "te", "chunked"],
  ["capitals", "RFC 9113, 8.2.1", "X-Capital", "1"],
  ["a blank in a name", "RFC 9113, 8.2.1", "x a", "1"],
  ["a colon in a name", DESYNC, "transfer-encoding: chunked\r\nx", "1"],
  ["a line in a name", DESYNC, "x: 1\r\ntransfer-encoding", "chunked"],
  ["no name", "RFC 9113, 8.2.1", "", "1"],
  ["a line in a value", DESYNC, "x-a", "1\r\ntransfer-encoding: chunked"],
  ["a request in a value", DESYNC, "x-a", `1\r\n\r\n${HIDDEN}`],
  ["a bare LF in a value", "RFC 9113, 8.2.1", "x-a", "1\nx: y"],
  ["a bare CR in a value", "RFC 9113, 8.2.1", "x-a", "1\rx: y"],
  ["a NUL in a value", "RFC 9113, 8.2.1", "x-a", "1\0"],
] as const).map(([name, source, field, value]): Row => [
  name,
  source,
  name === "a blank in a name" || name.startsWith("keep") ? "safe" : "refused",
  [...HEAD, [field, value]],
  `0\r\n\r\n${HIDDEN}`,
]);

const LENGTHS: readonly Row[] = [
  ["H2.CL, too short", "CVE-2021-21295", "refused", [
    ...HEAD,
    ["content-length", "0"],
  ], HIDDEN],
  ["H2.CL, too long", "RFC 9113, 8.1.1", "refused", [
    ...HEAD,
    ["content-length", "500"],
  ], HIDDEN],
  ["two lengths", "RFC 9113, 8.1.1", "refused", [
    ...HEAD,
    ["content-length", `${HIDDEN.length}`],
    ["content-length", "0"],
  ], HIDDEN],
  ["a length that is no number", "RFC 9110, 8.6", "refused", [
    ...HEAD,
    ["content-length", "+5"],
  ], "12345"],
  ["the right length", "RFC 9113, 8.1.1", "forwarded", [
    ...HEAD,
    ["content-length", `${HIDDEN.length}`],
  ], HIDDEN],
  ["a request for a body", DESYNC, "forwarded", HEAD, HIDDEN],
  ["chunks for a body", DESYNC, "forwarded", HEAD, `0\r\n\r\n${HIDDEN}`],
];

/** All of them. */
export const HTTP2_ATTEMPTS: readonly Http2Attempt[] = [
  ...PSEUDO,
  ...METHODS,
  ...PATHS,
  ...AUTHORITIES,
  ...FIELDS,
  ...LENGTHS,
].map(([name, source, wanted, fields, body = ""]) => ({
  name,
  source,
  wanted,
  fields,
  body,
}));
