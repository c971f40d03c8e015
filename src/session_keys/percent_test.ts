/** Tests of percent-decoding. @module */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { percentDecode } from "./percent.ts";

test("percentDecode() leaves what is no escape", () => {
  for (const text of ["", "%", "%4", "%4g", "%g4", "%%", "%+1", "% 1"]) {
    assertEquals(decode(text, false), text);
  }
});

test("percentDecode() decodes bytes, once", () => {
  assertEquals(decode("%41%7a%7A%e6%97%A5", false), "Azz日");
  assertEquals(decode("%2541", false), "%41");
  assertEquals(decode("a+b%2B", false), "a+b+");
  assertEquals(decode("a+b%2B", true), "a b+");
});

function decode(text: string, plusIsSpace: boolean): string {
  return new TextDecoder().decode(percentDecode(text, { plusIsSpace }));
}
