/**
 * Attempts by the length of a message: lengths, codings, and both (RFC 9112,
 * 6), as others have been attacked.
 *
 * Invariant: each names the rule it bends or the advisory it is taken from.
 *
 * @module
 */
import { type Attempt, HIDDEN, TARGET } from "./case.ts";
import { headOf, postHead } from "./raw_text.ts";

const CHUNKED = "Transfer-Encoding: chunked";
/** The end of a chunked body, and a second request for who reads a length. */
const EMPTY = "0\r\n\r\n";

/** Rows of name, source, fields; the body is empty, a request is behind it. */
const REFUSED_FIELDS: readonly (readonly [string, string, ...string[]])[] = [
  ["CL.TE", "RFC 9112, 6.3; CVE-2005-2088", "Content-Length: 5", CHUNKED],
  ["TE.CL", "RFC 9112, 6.1; CVE-2019-20445", CHUNKED, "Content-Length: 5"],
  ["CL.TE of length 0", "CVE-2023-47641", "Content-Length: 0", CHUNKED],
  ["two codings", "RFC 9112, 6.3; CVE-2020-8287", CHUNKED, CHUNKED],
  [
    "chunked, then another",
    "CVE-2021-21299",
    CHUNKED,
    "Transfer-Encoding: identity",
  ],
  [
    "another, then chunked",
    "CVE-2020-1935",
    "Transfer-Encoding: identity",
    CHUNKED,
  ],
  ["x, then chunked", "CVE-2022-1705", "Transfer-Encoding: x", CHUNKED],
  ["xchunked", "CVE-2019-16786", "Transfer-Encoding: xchunked"],
  ["identity", "CVE-2021-33037", "Transfer-Encoding: identity"],
  ["gzip", "RFC 9112, 6.1", "Transfer-Encoding: gzip"],
  ["chunked not last", "RFC 9112, 6.3", "Transfer-Encoding: chunked, gzip"],
  ["gzip, chunked", "RFC 9112, 7", "Transfer-Encoding: gzip, chunked"],
  ["chunked twice in a list", "CVE-2024-1135", `${CHUNKED}, chunked`],
  ["chunked and identity", "CVE-2024-6827", `${CHUNKED}, identity`],
  ["quoted", "RFC 9112, 7", 'Transfer-Encoding: "chunked"'],
  ["with a parameter", "RFC 9112, 7.1", `${CHUNKED};q=1`],
  ["after a VT", "CVE-2019-18277", "Transfer-Encoding: \x0bchunked"],
  ["before a VT", "CVE-2019-16789", "Transfer-Encoding: chunked\x0b"],
  ["after a FF", "CVE-2019-16789", "Transfer-Encoding: \x0cchunked"],
  ["after a no-break space", "RFC 9110, 5.6.3", `Transfer-Encoding: \xa0x`],
  ["with a NUL", "RFC 9110, 5.5", "Transfer-Encoding: chunked\0"],
  ["no coding", "RFC 9112, 6.1", "Transfer-Encoding: "],
  ["a comma", "CVE-2022-32213", "Transfer-Encoding: ,chunked"],
  ["folded", "CVE-2022-32215", "Transfer-Encoding:\r\n chunked"],
  ["folded, with a length", "CVE-2025-32094", "X: 1\r\n Content-Length: 5"],
  ["blank before the colon", "CVE-2019-16869", "Transfer-Encoding : chunked"],
  ["tab before the colon", "CVE-2019-16276", "Transfer-Encoding\t: chunked"],
  ["length, blank, colon", "CVE-2021-22959", "Content-Length : 5"],
  ["blank before the name", "CVE-2024-27982", "X: 1\r\n Content-Length: 5"],
  ["no colon", "CVE-2019-20444", "Transfer-Encoding chunked"],
  ["no name", "CVE-2023-25725", ": x", "Content-Length: 5"],
  ["two lengths", "RFC 9112, 6.3", "Content-Length: 0", "Content-Length: 5"],
  [
    "two lengths, the other way",
    "CVE-2019-16792",
    "Content-Length: 5",
    "Content-Length: 0",
  ],
  ["a list of lengths", "RFC 9110, 8.6", "Content-Length: 0, 5"],
  ["plus", "CVE-2021-32715", "Content-Length: +5"],
  ["minus", "CVE-2022-42252", "Content-Length: -5"],
  ["hexadecimal", "RFC 9110, 8.6", "Content-Length: 0x5"],
  ["underscore", "CVE-2023-47627", "Content-Length: 1_0"],
  ["fraction", "RFC 9110, 8.6", "Content-Length: 5.0"],
  ["exponent", "RFC 9110, 8.6", "Content-Length: 5e0"],
  ["blank within", "CVE-2022-31081", "Content-Length: 1 0"],
  ["empty length", "CVE-2023-40225", "Content-Length: "],
  ["a comma for a length", "RFC 9110, 8.6", "Content-Length: ,"],
  ["beyond 64 bits", "RFC 9110, 8.6", `Content-Length: ${2n ** 64n + 5n}`],
  ["two numbers", "CVE-2018-7159", "Content-Length: 5 5"],
  ["a second one folded", "RFC 9112, 5.2", "Content-Length: 0\r\n 5"],
];

/** Lengths and codings that must be refused, each with a hidden request. */
export const REFUSED_FRAMINGS: readonly Attempt[] = REFUSED_FIELDS.map(
  ([name, source, ...fields]) => ({
    name,
    source,
    raw: postHead(...fields) + EMPTY + HIDDEN,
    wanted: "refused",
    ...(name === "TE.CL" ? { needs: "codingBeforeLength" } : {}),
  }),
);

/** Framings that have one reading, however odd. */
export const ODD_FRAMINGS: readonly Attempt[] = [
  {
    name: "equal lengths",
    source: "RFC 9110, 8.6",
    raw: postHead("Content-Length: 5", "Content-Length: 5") + "12345",
    wanted: "safe",
    body: "12345",
  },
  {
    name: "leading zeros",
    source: "RFC 9110, 8.6",
    raw: postHead("Content-Length: 0005") + "12345",
    wanted: "safe",
    body: "12345",
  },
  {
    name: "chunked in capitals",
    source: "RFC 9112, 7",
    raw: postHead("TRANSFER-ENCODING: CHUNKED") + "5\r\n12345\r\n0\r\n\r\n",
    wanted: "forwarded",
    body: "12345",
  },
  {
    name: "a tab before the value",
    source: "RFC 9112, 5.1; HTTP Desync Attacks, 2019",
    raw: postHead("Transfer-Encoding:\tchunked") + "5\r\n12345\r\n0\r\n\r\n",
    wanted: "forwarded",
    body: "12345",
  },
  {
    name: "a request within a length",
    source: "RFC 9112, 6.2",
    raw: postHead(`Content-Length: ${HIDDEN.length}`) + HIDDEN,
    wanted: "forwarded",
    body: HIDDEN,
  },
  {
    name: "a request within a chunk",
    source: "RFC 9112, 7.1",
    raw: postHead(CHUNKED) +
      `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
    wanted: "forwarded",
    body: HIDDEN,
  },
  {
    name: "a GET with a length",
    source: "RFC 9110, 9.3.1; HTTP Request Smuggling, Watchfire, 2005",
    raw: headOf(
      `GET ${TARGET} HTTP/1.1`,
      "Host: gateway",
      `Content-Length: ${HIDDEN.length}`,
    ) + HIDDEN,
    wanted: "forwarded",
  },
  {
    name: "a GET with chunks",
    source: "RFC 9110, 9.3.1",
    raw: headOf(`GET ${TARGET} HTTP/1.1`, "Host: gateway", CHUNKED) +
      `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`,
    wanted: "safe",
  },
  {
    name: "chunks in HTTP/1.0",
    source: "RFC 9112, 6.1; CVE-2021-33037",
    raw: headOf(`POST ${TARGET} HTTP/1.0`, "Host: gateway", CHUNKED) + EMPTY +
      HIDDEN,
    wanted: "safe",
  },
  {
    name: "no framing, bytes behind",
    source: "RFC 9112, 6.3",
    raw: postHead() + "x=1",
    wanted: "forwarded",
  },
  {
    name: "less than the length",
    source: "RFC 9112, 8",
    raw: postHead("Content-Length: 500") + HIDDEN,
    wanted: "open",
  },
  {
    name: "a last chunk that does not come",
    source: "RFC 9112, 7.1",
    raw: postHead(CHUNKED) + "5\r\n12345\r\n",
    wanted: "open",
  },
];
