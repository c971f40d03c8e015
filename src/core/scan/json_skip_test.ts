/** Tests of jumping over values. @module */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { ValueSkipper } from "./json_skip.ts";

/** What follows a value in every row; where it starts is the wanted result. */
const REST = ',"next"';

test("ValueSkipper finds the end of a value in every split", () => {
  const values = [
    '""',
    '"\\""',
    '"\\\\"',
    '"\\\\\\""',
    `"${"x".repeat(31)}"`,
    `"${"x".repeat(32)}\\""`,
    `"${"x".repeat(100)}\\\\"`,
    `"${"\\\\".repeat(40)}"`,
    `"${"x".repeat(50)}\\"${"y".repeat(50)}\\""`,
    "[]",
    "{}",
    '[{"a":"]}"},[[]]]',
    `{"a":["${"z".repeat(60)}\\"]}"]}`,
    "[}",
  ];
  for (const value of values) {
    const bytes = new TextEncoder().encode(value + REST);
    for (let cut = 1; cut <= value.length; cut++) {
      assertEquals(skip(bytes, [cut]), value.length, `${value} cut at ${cut}`);
    }
    const everywhere = Array.from(bytes, (_, at) => at).slice(1);
    assertEquals(skip(bytes, everywhere), value.length, value);
  }
});

test("ValueSkipper takes time linear in the bytes, whatever they are", () => {
  // A search that starts over at every escaped quote would take minutes.
  for (const piece of ['\\"', "\\\\", `\\"${"x".repeat(33)}`, "[", "[]"]) {
    const text = '["' + piece.repeat(1_000_000 / piece.length) + '"]';
    const bytes = new TextEncoder().encode(text + REST);
    assertEquals(skip(bytes, []), text.length);
  }
});

/** Skips the value at the start of `bytes`; returns where it ends. */
function skip(bytes: Uint8Array, cuts: readonly number[]): number {
  const skipper = new ValueSkipper();
  if (bytes[0] === 0x22) skipper.beginString();
  else skipper.beginBrackets();
  let from = 1;
  for (const to of [...cuts, bytes.length]) {
    const at = skipper.push(bytes.subarray(from, to), 0);
    if (skipper.isDone) return from + at;
    from = Math.max(from, to);
  }
  return -1;
}
