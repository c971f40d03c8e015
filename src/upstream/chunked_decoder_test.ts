import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { ChunkedDecoder } from "./chunked_decoder.ts";
import { UpstreamError } from "./upstream_error.ts";

const decoder = new TextDecoder("latin1");

interface Decoded {
  readonly payload: string;
  readonly ended: boolean;
  /** How many bytes of the text belong to the body. */
  readonly length: number;
}

/** Decodes `text` given in pieces that end at `cuts`. */
function decode(text: string, cuts: readonly number[] = []): Decoded {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const chunked = new ChunkedDecoder();
  let payload = "";
  let start = 0;
  for (const end of [...cuts, text.length]) {
    const after = chunked.decode(bytes, start, end);
    payload += decoder.decode(
      bytes.subarray(chunked.outStart, chunked.outEnd),
    );
    if (chunked.ended) return { payload, ended: true, length: after };
    start = end;
  }
  return { payload, ended: false, length: text.length };
}

const MALFORMED: readonly (readonly [name: string, text: string])[] = [
  ["no size", "\r\nabc"],
  ["a size of letters", "xyz\r\n"],
  ["a sign", "+3\r\nabc\r\n"],
  ["a minus", "-3\r\nabc\r\n"],
  ["a prefix", "0x3\r\nabc\r\n"],
  ["an underscore", "1_0\r\n"],
  ["a space before the size", " 3\r\nabc\r\n"],
  ["a space after the size", "3 \r\nabc\r\n"],
  ["13 digits", "0000000000003\r\nabc\r\n"],
  ["a size over 2^53", "ffffffffffffffff\r\n"],
  ["a bare line feed after the size", "3\nabc\r\n"],
  ["a bare carriage return after the size", "3\rabc"],
  ["an extension without a semicolon", "3 a=b\r\nabc\r\n"],
  ["a bare line feed in an extension", "3;a\nabc\r\n"],
  ["a control character in an extension", "3;a\x00\r\nabc\r\n"],
  ["data longer than its size", "3\r\nabcd\r\n"],
  ["data shorter than its size", "3\r\nab\r\n0\r\n\r\n"],
  ["a bare carriage return after the data", "3\r\nabc\rx"],
  ["a bare line feed after the data", "3\r\nabc\n0\r\n\r\n"],
  ["a trailer without a name", "0\r\n: b\r\n\r\n"],
  ["a trailer with a space before the colon", "0\r\na : b\r\n\r\n"],
  ["a folded trailer", "0\r\na: b\r\n c\r\n\r\n"],
  ["a trailer without a colon", "0\r\nab\r\n\r\n"],
  ["a bare line feed in a trailer", "0\r\na: b\n\r\n"],
  ["a bare carriage return in a trailer", "0\r\na: b\rc"],
  ["a bare carriage return at the end", "0\r\n\rx"],
  ["a bare line feed at the end", "0\r\n\n"],
  ["a control character in a trailer", "0\r\na: \x01\r\n\r\n"],
];

test("decode() refuses broken framing, however it is split", () => {
  for (const [name, text] of MALFORMED) {
    for (let cut = 0; cut <= text.length; cut++) {
      assertThrows(
        () => decode(text, [cut]),
        UpstreamError,
        "Cannot read the response",
        `${name}, cut at ${cut}`,
      );
    }
  }
});

test("decode() takes the framing off, however it is split", () => {
  const rows: readonly (readonly [text: string, payload: string])[] = [
    ["0\r\n\r\n", ""],
    ["000\r\n\r\n", ""],
    ["3\r\nabc\r\n0\r\n\r\n", "abc"],
    ["A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n", "01234567890123456789"],
    ['3;x\r\nabc\r\n0;y="z"\r\n\r\n', "abc"],
    ["3 \t;x\r\nabc\r\n0\r\n\r\n", "abc"],
    ["2\r\n\r\n\r\n0\r\na: b\r\nC:\r\n\r\n", "\r\n"],
    ["1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n0\r\n\r\n", "abcdef"],
  ];
  for (const [text, payload] of rows) {
    const wanted = { payload, ended: true, length: text.length };
    for (let cut = 0; cut <= text.length; cut++) {
      assertEquals(decode(text, [cut]), wanted, `cut at ${cut}`);
    }
    assertEquals(decode(text, Array.from(text, (_, i) => i)), wanted);
    assertEquals(decode(text + "HTTP/1.1"), wanted);
    for (let length = 0; length < text.length; length++) {
      assertEquals(decode(text.slice(0, length)).ended, false);
    }
  }
});

test("decode() bounds extensions and trailers", () => {
  const extension = (bytes: number) => `0;${"x".repeat(bytes)}\r\n\r\n`;
  assertEquals(decode(extension(1023)).ended, true);
  assertEquals(decode(extension(1024)).ended, true);
  assertThrows(() => decode(extension(1025)), UpstreamError, "over 1024");
  const trailer = (bytes: number) => `0\r\na:${"x".repeat(bytes - 1)}\r\n\r\n`;
  assertEquals(decode(trailer(16_383)).ended, true);
  assertEquals(decode(trailer(16_384)).ended, true);
  assertThrows(() => decode(trailer(16_385)), UpstreamError, "over 16384");
});

test("decode() gives back what was chunked", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 })),
      fc.array(fc.nat(2000), { maxLength: 8 }),
      (chunks, cuts) => {
        const pieces = chunks.map((chunk) => decoder.decode(chunk));
        const latin1 = chunks.map((chunk) => String.fromCharCode(...chunk));
        const text =
          latin1.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
            .join("") + "0\r\n\r\n";
        const sorted = cuts.filter((cut) => cut < text.length)
          .sort((a, b) => a - b);
        assertEquals(decode(text, sorted).payload, pieces.join(""));
      },
    ),
    { numRuns: 500 },
  );
});
