/**
 * Attempts by the head: its lines, its target, its host, and what a connection
 * is used for (RFC 9112, 2 to 5 and 9).
 *
 * Invariant: each names the rule it bends or the advisory it is taken from.
 *
 * @module
 */
import { type Attempt, HIDDEN, HIDDEN_TARGET, TARGET } from "./case.ts";
import { headOf, postHead } from "./raw_text.ts";

const LINE = `GET ${TARGET} HTTP/1.1`;
const HOST = "Host: gateway";
const UPGRADE = "Connection: Upgrade";

/** Rows of name, source, what has to come of it, and the bytes. */
const ROWS: readonly (readonly [string, string, Attempt["wanted"], string])[] =
  [
    [
      "bare LF",
      "RFC 9112, 2.2; CVE-2019-16785",
      "safe",
      `${LINE}\n${HOST}\n\n`,
    ],
    [
      "a bare LF hides a field",
      "CVE-2022-32214",
      "safe",
      headOf(LINE, HOST, "X: x\nContent-Length: 50") + HIDDEN,
    ],
    [
      "a bare CR hides a field",
      "CVE-2023-30589",
      "refused",
      headOf(LINE, HOST, "X: x\rContent-Length: 50") + HIDDEN,
    ],
    [
      "a CR in a name",
      "CVE-2020-8201",
      "refused",
      headOf(LINE, HOST, "Content\rLength: 50") + HIDDEN,
    ],
    [
      "a NUL in a name",
      "RFC 9110, 5.1",
      "refused",
      headOf(LINE, HOST, "X\0Y: 1") + HIDDEN,
    ],
    [
      "a blank line in front",
      "RFC 9112, 2.2",
      "safe",
      `\r\n${headOf(LINE, HOST)}`,
    ],
    [
      "a blank before the first field",
      "RFC 9112, 2.2; CVE-2016-8743",
      "refused",
      headOf(LINE, " X: 1", HOST) + HIDDEN,
    ],
    ["HTTP/0.9", "RFC 9112, 3", "refused", `GET ${TARGET}\r\n\r\n${HIDDEN}`],
    [
      "HTTP/1.2",
      "RFC 9110, 2.5",
      "safe",
      headOf(`GET ${TARGET} HTTP/1.2`, HOST),
    ],
    [
      "another protocol",
      "RFC 9112, 2.3",
      "refused",
      headOf(`GET ${TARGET} HTTQ/1.1`, HOST) + HIDDEN,
    ],
    [
      "two blanks in the line",
      "RFC 9112, 3; CVE-2016-8743",
      "safe",
      headOf(`GET  ${TARGET} HTTP/1.1`, HOST),
    ],
    [
      "a blank in the target",
      "RFC 9112, 3.2; CVE-2023-25690",
      "refused",
      headOf(`GET ${TARGET} x HTTP/1.1`, HOST) + HIDDEN,
    ],
    [
      "a request line in the target",
      "CVE-2023-25690",
      "refused",
      headOf(`GET ${TARGET} HTTP/1.1\rGET ${HIDDEN_TARGET} HTTP/1.1`, HOST),
    ],
    [
      "an escaped line end in the target",
      "CVE-2023-25690",
      "forwarded",
      headOf(`GET ${TARGET}?%0d%0aHost:%20x%0d%0a HTTP/1.1`, HOST),
    ],
    [
      "a NUL in the target",
      "RFC 3986, 2",
      "refused",
      headOf(`GET ${TARGET}\0x HTTP/1.1`, HOST) + HIDDEN,
    ],
    [
      "a method that is no token",
      "RFC 9110, 9.1",
      "refused",
      headOf(`GE(T ${TARGET} HTTP/1.1`, HOST) + HIDDEN,
    ],
    [
      "a method in lower case",
      "RFC 9110, 9.1",
      "safe",
      headOf(`get ${TARGET} HTTP/1.1`, HOST),
    ],
    [
      "CONNECT",
      "RFC 9110, 9.3.6",
      "refused",
      headOf("CONNECT x:80 HTTP/1.1", "Host: x:80") + HIDDEN,
    ],
    [
      "two hosts",
      "RFC 9112, 3.2",
      "refused",
      headOf(LINE, HOST, "Host: evil") + HIDDEN,
    ],
    [
      "a list of hosts",
      "RFC 9112, 3.2",
      "refused",
      headOf(LINE, "Host: a, b") + HIDDEN,
    ],
    [
      "a host with a path",
      "RFC 9112, 3.2",
      "refused",
      headOf(LINE, `Host: x${HIDDEN_TARGET}?`) + HIDDEN,
    ],
    ["no host", "RFC 9112, 3.2", "safe", headOf(LINE)],
    [
      "another authority than the host",
      "RFC 9112, 3.2.2",
      "forwarded",
      headOf(`GET http://evil${TARGET} HTTP/1.1`, HOST),
    ],
    [
      "an authority with a user",
      "RFC 9110, 4.2.4",
      "safe",
      headOf(`GET http://gateway@evil${TARGET} HTTP/1.1`, HOST),
    ],
    [
      "a target that is no path",
      "RFC 9112, 3.2",
      "safe",
      headOf(`GET ${TARGET.slice(1)} HTTP/1.1`, HOST),
    ],
    [
      "two requests",
      "RFC 9112, 9.3.2",
      "pipelined",
      headOf(LINE, HOST) + HIDDEN,
    ],
    [
      "a request behind close",
      "RFC 9112, 9.6",
      "safe",
      headOf(LINE, HOST, "Connection: close") + HIDDEN,
    ],
    [
      "close that drops the framing",
      "RFC 9110, 7.6.1",
      "forwarded",
      postHead("Connection: content-length", "Content-Length: 3") + "abc",
    ],
    [
      "expectation without a body",
      "RFC 9110, 10.1.1; HTTP/1.1 Must Die, 2025",
      "pipelined",
      headOf(LINE, HOST, "Expect: 100-continue") + HIDDEN,
    ],
    [
      "an odd expectation",
      "HTTP/1.1 Must Die, 2025",
      "safe",
      postHead("Expect: y 100-continue", `Content-Length: ${HIDDEN.length}`) +
      HIDDEN,
    ],
    [
      "an expectation that is not waited for",
      "RFC 9110, 10.1.1",
      "safe",
      postHead("Expect: 100-continue", `Content-Length: ${HIDDEN.length}`) +
      HIDDEN,
    ],
    [
      "an upgrade to h2c",
      "RFC 9113, 3.1; h2c smuggling, Bishop Fox, 2020",
      "safe",
      headOf(
        LINE,
        HOST,
        "Connection: Upgrade, HTTP2-Settings",
        "Upgrade: h2c",
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
      ),
    ],
    [
      "an upgrade to HTTP/1.1 with a request behind",
      "RFC 9110, 7.8",
      "pipelined",
      headOf(LINE, HOST, UPGRADE, "Upgrade: foo") + HIDDEN,
    ],
    [
      "a WebSocket of an unknown version",
      "RFC 6455, 4.4; WebSocket smuggling, Lerner, 2019",
      "safe",
      headOf(
        LINE,
        HOST,
        UPGRADE,
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 777",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      ) + HIDDEN,
    ],
    [
      "a long name that ends in a length",
      "CVE-2021-40346",
      "safe",
      headOf(LINE, HOST, `Content-Length0${"a".repeat(256)}: 50`),
    ],
  ];

/** What few attempts have besides, by name. */
const EXTRAS: Readonly<Record<string, Partial<Attempt>>> = {
  "close that drops the framing": { body: "abc" },
  "an odd expectation": { body: HIDDEN },
  "an expectation that is not waited for": { body: HIDDEN },
  "a target that is no path": { needs: "closedRefusal" },
};

/** All of them. */
export const HEAD_ATTEMPTS: readonly Attempt[] = ROWS.map(
  ([name, source, wanted, raw]) => ({
    name,
    source,
    raw,
    wanted,
    ...EXTRAS[name],
  }),
);
