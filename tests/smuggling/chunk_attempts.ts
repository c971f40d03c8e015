/**
 * Attempts within a chunked body (RFC 9112, 7.1).
 *
 * Invariant: what is behind a body that breaks is part of no request, and what
 * is behind a whole one is nothing.
 *
 * @module
 */
import { type Attempt, HIDDEN, HIDDEN_TARGET } from "./case.ts";
import { postHead } from "./raw_text.ts";

const HEAD = postHead("Transfer-Encoding: chunked");

/** Rows of name, source and the bytes of the body, before a hidden request. */
const BROKEN: readonly (readonly [string, string, string])[] = [
  ["no size", "RFC 9112, 7.1", "\r\n"],
  ["a size of 0x", "CVE-2022-24801", "0x5\r\n12345\r\n0\r\n\r\n"],
  ["a signed size", "CVE-2022-24801", "+5\r\n12345\r\n0\r\n\r\n"],
  ["a negative size", "CVE-2013-2028", "-5\r\n12345\r\n0\r\n\r\n"],
  ["an underscore in a size", "RFC 9112, 7.1", "1_0\r\n12345\r\n0\r\n\r\n"],
  ["a size beyond 64 bits", "CVE-2021-32714", "10000000000000005\r\n12345"],
  ["a size of many digits", "CVE-2015-3183", "f".repeat(40) + "\r\n12345"],
  ["a size that is no number", "RFC 9112, 7.1", "g\r\n12345\r\n0\r\n\r\n"],
  ["data longer than its size", "CVE-2025-43859", "3\r\n12345\r\n0\r\n\r\n"],
  ["no line end after data", "CVE-2025-43859", "5\r\n12345XX0\r\n\r\n"],
  ["a bare LF after a size", "CVE-2025-22871", "5\n12345\r\n0\r\n\r\n"],
  ["a bare CR after a size", "RFC 9112, 2.2", "5\r12345\r\n0\r\n\r\n"],
  ["a bare LF after data", "RFC 9112, 2.2", "5\r\n12345\n0\r\n\r\n"],
  ["a NUL in an extension", "RFC 9112, 7.1.1", "5;\0\r\n12345\r\n0\r\n\r\n"],
  ["a bare LF in an extension", "CVE-2025-55315", "5;\n12345\r\n0\r\n\r\n"],
  [
    "a bare LF in an extension and a chunk behind",
    "CVE-2025-55315",
    `2;\nxx\r\n2f\r\n0\r\n\r\n${HIDDEN}`,
  ],
  ["a NUL after a size", "RFC 9112, 7.1", "5\0\r\n12345\r\n0\r\n\r\n"],
];

/** Extensions by the rules, with nothing behind them. */
const EXTENDED: readonly (readonly [string, string, string])[] = [
  ["an extension", "RFC 9112, 7.1.1", "5;a=b\r\n12345\r\n0\r\n\r\n"],
  ["a quoted one", "CVE-2021-22960", '5;a="\r\\n"\r\n12345\r\n0\r\n\r\n'],
  ["a blank before it", "CVE-2023-39326", "5 ;a\r\n12345\r\n0\r\n\r\n"],
  ["one of the last chunk", "CVE-2024-21647", "5\r\n12345\r\n0;a\r\n\r\n"],
];

/** Trailers, which a gateway may drop but never make part of a head. */
const TRAILED: readonly (readonly [string, string, string])[] = [
  ["a trailer", "RFC 9112, 7.1.2", "X-Sum: 1\r\n"],
  ["a length", "RFC 9110, 6.5.1; CVE-2023-46589", "Content-Length: 50\r\n"],
  ["a coding", "RFC 9110, 6.5.1", "Transfer-Encoding: chunked\r\n"],
  ["a host", "CVE-2025-53643", "Host: evil\r\n"],
  ["a request line", "CVE-2025-53643", `GET ${HIDDEN_TARGET} HTTP/1.1\r\n`],
];

/** All of them. */
export const CHUNK_ATTEMPTS: readonly Attempt[] = [
  ...BROKEN.map(([name, source, body]): Attempt => ({
    name,
    source,
    raw: HEAD + body + HIDDEN,
    wanted: "safe",
    ...(name === "a NUL in an extension" ? { needs: "strictExtension" } : {}),
  })),
  ...EXTENDED.map(([name, source, body]): Attempt => ({
    name: `extension: ${name}`,
    source,
    raw: HEAD + body,
    wanted: "safe",
    body: "12345",
  })),
  ...TRAILED.map(([name, source, trailer]): Attempt => ({
    name: `trailer: ${name}`,
    source,
    raw: `${HEAD}5\r\n12345\r\n0\r\n${trailer}\r\n`,
    wanted: "safe",
    body: "12345",
  })),
];
