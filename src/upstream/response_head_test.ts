import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { FieldTexts } from "./field_text.ts";
import {
  FIELDS_MAX,
  HEAD_BYTES_MAX,
  type ResponseHead,
  ResponseHeadParser,
} from "./response_head.ts";
import { UpstreamError } from "./upstream_error.ts";

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Parses `text` given in pieces that end at `cuts`; offset 3 in a buffer. */
function parse(
  text: string,
  cuts: readonly number[] = [],
): { after: number; head: ResponseHead } | undefined {
  const parser = new ResponseHeadParser(new FieldTexts());
  const start = 3;
  const bytes = new Uint8Array(start + text.length + 5).fill(0x0a);
  bytes.set(latin1(text), start);
  for (const cut of [...cuts, text.length]) {
    const after = parser.parse(bytes, start, start + cut);
    if (after >= 0) return { after: after - start, head: parser.head() };
  }
  return undefined;
}

const MALFORMED: readonly (readonly [name: string, text: string])[] = [
  ["nothing but an empty line", "\r\n"],
  ["an empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n"],
  ["another protocol", "ICY 200 OK\r\n\r\n"],
  ["lower case", "http/1.1 200 OK\r\n\r\n"],
  ["HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n"],
  ["HTTP/1.2", "HTTP/1.2 200 OK\r\n\r\n"],
  ["a version of two digits", "HTTP/1.10 200 OK\r\n\r\n"],
  ["a version alone", "HTTP/1.1\r\n\r\n"],
  ["two spaces", "HTTP/1.1  200 OK\r\n\r\n"],
  ["a tabulator", "HTTP/1.1\t200 OK\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status cut short", "HTTP/1.1 20\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status of letters", "HTTP/1.1 2x0 OK\r\n\r\n"],
  ["status 099", "HTTP/1.1 099 OK\r\n\r\n"],
  ["status 600", "HTTP/1.1 600 OK\r\n\r\n"],
  ["a control character in the reason", "HTTP/1.1 200 O\x01K\r\n\r\n"],
  ["a bare line feed after the status", "HTTP/1.1 200 OK\n\r\n"],
  ["a bare line feed after a field", "HTTP/1.1 200 OK\r\na: b\n\r\n"],
  ["a bare line feed at the end", "HTTP/1.1 200 OK\r\na: b\r\n\n"],
  ["a bare carriage return in a value", "HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n"],
  ["two carriage returns", "HTTP/1.1 200 OK\r\r\n\r\n"],
  ["a folded field", "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n"],
  ["a field folded by a tabulator", "HTTP/1.1 200 OK\r\na: b\r\n\tc\r\n\r\n"],
  ["a space before the first field", "HTTP/1.1 200 OK\r\n a: b\r\n\r\n"],
  ["a space before the colon", "HTTP/1.1 200 OK\r\na : b\r\n\r\n"],
  ["a space in a name", "HTTP/1.1 200 OK\r\na b: c\r\n\r\n"],
  ["a line without a colon", "HTTP/1.1 200 OK\r\nab\r\n\r\n"],
  ["a field without a name", "HTTP/1.1 200 OK\r\n: b\r\n\r\n"],
  ["a name that is no token", "HTTP/1.1 200 OK\r\na(b): c\r\n\r\n"],
  ["a name of latin-1", "HTTP/1.1 200 OK\r\n\xe9: c\r\n\r\n"],
  ["a NUL in a value", "HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n"],
  ["a control character in a value", "HTTP/1.1 200 OK\r\na: \x1bc\r\n\r\n"],
  ["a DEL in a value", "HTTP/1.1 200 OK\r\na: b\x7f\r\n\r\n"],
];

const HEADS: readonly (readonly [text: string, head: ResponseHead])[] = [
  ["HTTP/1.1 200 OK\r\n\r\n", head(200, "OK", [])],
  ["HTTP/1.0 200 OK\r\n\r\n", { ...head(200, "OK", []), minor: 0 }],
  ["HTTP/1.1 200 \r\n\r\n", head(200, "", [])],
  ["HTTP/1.1 200\r\n\r\n", head(200, "", [])],
  ["HTTP/1.1 100 Continue\r\n\r\n", head(100, "Continue", [])],
  ["HTTP/1.1 599 \xe9 \t x\r\n\r\n", head(599, "\xe9 \t x", [])],
  [
    "HTTP/1.1 404 Not Found\r\nDate: now\r\nX-A:b:c\r\nx-a: \t d \t\r\n" +
    "Empty:\r\nBlank:   \r\nLatin: caf\xe9\r\n\r\n",
    head(404, "Not Found", [
      ["date", "now"],
      ["x-a", "b:c"],
      ["x-a", "d"],
      ["empty", ""],
      ["blank", ""],
      ["latin", "caf\xe9"],
    ]),
  ],
  [
    `HTTP/1.1 200 OK\r\nset-cookie: ${"a".repeat(200)}\r\n\r\n`,
    head(200, "OK", [["set-cookie", "a".repeat(200)]]),
  ],
];

function head(
  status: number,
  reason: string,
  headers: ResponseHead["headers"],
): ResponseHead {
  return { status, reason, minor: 1, headers };
}

test("parse() refuses a malformed head, however it is split", () => {
  for (const [name, text] of MALFORMED) {
    for (let cut = 0; cut <= text.length; cut++) {
      const error = assertThrows(
        () => parse(text, [cut]),
        UpstreamError,
        "Cannot read the response",
        `${name}, cut at ${cut}`,
      );
      assertEquals(error.kind, "malformed");
    }
  }
});

test("parse() reads a head, however it is split", () => {
  for (const [text, wanted] of HEADS) {
    const whole = { after: text.length, head: wanted };
    for (let cut = 0; cut <= text.length; cut++) {
      assertEquals(parse(text, [cut]), whole, `cut at ${cut}`);
    }
    const everywhere = Array.from(text, (_, i) => i);
    assertEquals(parse(text, everywhere), whole);
    assertEquals(parse(text + "BODY"), whole);
  }
});

test("parse() asks for more until the last byte", () => {
  for (const [text] of HEADS) {
    for (let length = 0; length < text.length; length++) {
      assertEquals(parse(text.slice(0, length)), undefined);
    }
  }
});

test("parse() takes heads up to its limit of bytes", () => {
  const around = "HTTP/1.1 200 OK\r\na: \r\n\r\n".length;
  for (
    const [bytes, isTaken] of [
      [HEAD_BYTES_MAX - 1, true],
      [HEAD_BYTES_MAX, true],
      [HEAD_BYTES_MAX + 1, false],
    ] as const
  ) {
    const value = "x".repeat(bytes - around);
    const text = `HTTP/1.1 200 OK\r\na: ${value}\r\n\r\n`;
    assertEquals(text.length, bytes);
    if (isTaken) assertEquals(parse(text)?.after, bytes);
    else assertThrows(() => parse(text), UpstreamError, "over 65536 bytes");
  }
});

test("parse() takes fields up to its limit of their count", () => {
  for (
    const [count, isTaken] of [
      [FIELDS_MAX - 1, true],
      [FIELDS_MAX, true],
      [FIELDS_MAX + 1, false],
    ] as const
  ) {
    const text = `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(count)}\r\n`;
    if (isTaken) assertEquals(parse(text)?.head.headers.length, count);
    else assertThrows(() => parse(text), UpstreamError, "over 256 header");
  }
});

test("parse() gives back every field as it was", () => {
  const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,80}$/);
  const value = fc.stringMatching(/^([!-~\x80-\xff]([ -~\x80-\xff]*[!-~])?)?$/);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, value), { maxLength: 20 }),
      fc.array(fc.nat(2000), { maxLength: 5 }),
      (fields, cuts) => {
        const lines = fields.map(([n, v]) => `${n}: ${v}\r\n`).join("");
        const text = `HTTP/1.1 200 OK\r\n${lines}\r\n`;
        const sorted = cuts.filter((cut) => cut < text.length)
          .sort((a, b) => a - b);
        assertEquals(
          parse(text, sorted)?.head.headers,
          fields.map(([n, v]) => [n.toLowerCase(), v] as const),
        );
      },
    ),
    { numRuns: 300 },
  );
});
