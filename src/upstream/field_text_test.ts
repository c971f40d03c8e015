import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { FieldTexts, NAME_BYTES, VALUE_BYTES } from "./field_text.ts";

test("the tables hold exactly what RFC 9110 allows", () => {
  for (let byte = 0; byte < 256; byte++) {
    const character = String.fromCharCode(byte);
    const isToken = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(character);
    const lower = character.toLowerCase().charCodeAt(0);
    assertEquals(NAME_BYTES[byte], isToken ? lower : 0, `name byte ${byte}`);
    const isValue = byte === 9 || (byte >= 0x20 && byte !== 0x7f);
    assertEquals(VALUE_BYTES[byte], isValue ? byte : 0, `value byte ${byte}`);
  }
});

test("read() gives the same text from the table as without it", () => {
  const texts = new FieldTexts();
  const bytes = fc.uint8Array({ minLength: 0, maxLength: 70 });
  fc.assert(
    fc.property(bytes, fc.boolean(), (value, isName) => {
      const table = isName ? NAME_BYTES : VALUE_BYTES;
      const seen = Array.from(value, (byte) => table[byte] ?? 0);
      const wanted = seen.includes(0)
        ? undefined
        : String.fromCharCode(...seen);
      const padded = new Uint8Array(value.length + 2);
      padded.set(value, 1);
      const range = { start: 1, end: value.length + 1 };
      assertEquals(texts.read(padded, range, table), wanted);
      assertEquals(texts.read(padded, range, table), wanted);
    }),
    { numRuns: 2000 },
  );
});

test("read() keeps apart texts that share a slot", () => {
  const texts = new FieldTexts();
  const encoder = new TextEncoder();
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 2000; i++) {
      const text = `value-${i}`;
      const bytes = encoder.encode(text);
      const range = { start: 0, end: bytes.length };
      assertEquals(texts.read(bytes, range, VALUE_BYTES), text);
    }
  }
});
