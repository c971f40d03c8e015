/** Tests of decoding strings. @module */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { StringDecoder } from "./json_string.ts";
import { ValueCapture } from "./value_capture.ts";

test("StringDecoder refuses what JSON does not allow", () => {
  for (const inside of ["a\nb", "\u0000", "\\x", "\\u12g4", "\\u12", "\\U"]) {
    assertEquals(decode(inside), "broken", inside);
  }
});

test("StringDecoder gives the same bytes for every spelling", () => {
  const rows: readonly (readonly [string[], string])[] = [
    [["abc", "\\u0061b\\u0063"], "61 62 63"],
    [["a/b", "a\\/b", "a\\u002Fb", "a\\u002fb"], "61 2f 62"],
    [['a\\"', "a\\u0022"], "61 22"],
    [["a\\\\", "a\\u005c"], "61 5c"],
    [["x\\b\\f\\n\\r\\t"], "78 08 0c 0a 0d 09"],
    [["\u007f\u0080", "\\u007f\\u0080"], "7f c2 80"],
    [["\u07ff\u0800", "\\u07FF\\u0800"], "df bf e0 a0 80"],
    [["\u{1f600}", "\\ud83d\\ude00", "\\uD83D\\uDE00"], "f0 9f 98 80"],
    [["\\udbff\\udfff"], "f4 8f bf bf"],
    [["a\\u0000"], "61 00"],
  ];
  for (const [spellings, wanted] of rows) {
    for (const inside of spellings) {
      assertEquals(decode(inside), wanted, inside);
    }
  }
});

test("StringDecoder keeps surrogates that stand alone (C7 rllm #879)", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["\\ud83d", "ed a0 bd"],
    ["\\ude00", "ed b8 80"],
    ["\\ude00\\ud83d", "ed b8 80 ed a0 bd"],
    ["\\ud83d\\ud83d\\ude00", "ed a0 bd f0 9f 98 80"],
    ["\\ud83dx", "ed a0 bd 78"],
    ["\\ud83d\\n", "ed a0 bd 0a"],
    ["\\ud83d\\u0041", "ed a0 bd 41"],
  ];
  for (const [inside, wanted] of rows) assertEquals(decode(inside), wanted);
});

/** Decoded bytes in hexadecimal, fed in all two-part splits, or `broken`. */
function decode(inside: string): string {
  const bytes = new TextEncoder().encode(`${inside}"`);
  const results = new Set<string>();
  for (let cut = 0; cut <= bytes.length; cut++) {
    const capture = new ValueCapture();
    const decoder = new StringDecoder(capture);
    capture.begin(64);
    decoder.begin();
    decoder.push(bytes.subarray(0, cut), 0);
    decoder.push(bytes.subarray(cut), 0);
    const value = Array.from(
      capture.finish()?.bytes ?? [],
      (byte) => byte.toString(16).padStart(2, "0"),
    );
    results.add(decoder.mode === "closed" ? value.join(" ") : decoder.mode);
  }
  return [...results].join(" or ");
}
