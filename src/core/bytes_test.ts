/** Tests of strings as bytes and of blanks. @module */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { isBlank, isBlankCode, latin1Bytes } from "./bytes.ts";

test("latin1Bytes() takes code units as bytes", () => {
  for (const text of ["", "a", "\u00ff\u0000\u0080", "x".repeat(9)]) {
    const wanted = Array.from(text, (unit) => unit.charCodeAt(0));
    assertEquals([...latin1Bytes(text)], wanted);
    assertEquals([...latin1Bytes(text, new Uint8Array(3))], wanted);
    assertEquals([...latin1Bytes(text, new Uint8Array(64))], wanted);
  }
});

test("isBlank() knows spaces, tabs and line breaks", () => {
  const rows: readonly [string, boolean][] = [
    ["", true],
    [" \t\r\n", true],
    ["\u0000", false],
    ["\u00a0", false],
    [" \u000b", false],
    ["  x  ", false],
    ["0", false],
  ];
  for (const [text, wanted] of rows) {
    assertEquals(isBlank(latin1Bytes(text)), wanted, JSON.stringify(text));
  }
  assertEquals([0x1f, 0x20, 0x21].map(isBlankCode), [false, true, false]);
});
