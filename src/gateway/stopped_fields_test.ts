/**
 * Which names stop, by list and by beginning.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { StoppedFields } from "./stopped_fields.ts";

test("StoppedFields.has() knows names as a whole, and their beginnings", () => {
  const fields = new StoppedFields(["via", "x-in-*", "ta*", "q*"]);
  const table: [name: string, stops: boolean][] = [
    ["", false],
    ["vi", false],
    ["via", true],
    ["viaa", false],
    ["x", false],
    ["x-in", false],
    ["x-in-", true],
    ["x-in-side", true],
    ["x-iN-side", false],
    ["t", false],
    ["ta", true],
    ["tab", true],
    ["q", true],
    ["xq", false],
    ["x-\u{69}n-", true],
    ["x-\u{2169}", false],
  ];
  for (const [name, stops] of table) {
    assertEquals(fields.has(name), stops, name);
  }
  assertEquals(new StoppedFields([]).has("x"), false);
});

test("StoppedFields.has() agrees with looking at each pattern", () => {
  const name = fc.string({
    unit: fc.constantFrom("x", "-", "a"),
    maxLength: 5,
  });
  const pattern = fc.tuple(name, fc.constantFrom("", "*"))
    .map(([text, star]) => text + star);
  fc.assert(fc.property(fc.array(pattern), name, (patterns, name) => {
    const expected = patterns.some((text) =>
      text.endsWith("*") ? name.startsWith(text.slice(0, -1)) : text === name
    );
    assertEquals(new StoppedFields(patterns).has(name), expected);
  }));
});
