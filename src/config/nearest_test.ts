/**
 * Tests of suggestions for mistyped names.
 *
 * Invariant: a far-fetched suggestion is a failure like a missing one.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { nearestName } from "./nearest.ts";

const KNOWN = ["listen", "workers", "admin", "endpoints", "session"];

test("nearestName() suggests typing errors only", () => {
  const table: [string, string | undefined][] = [
    ["", undefined],
    ["zzz", undefined],
    ["x".repeat(1000), undefined],
    ["port", undefined],
    ["lisssss", undefined],
    ["lisen", "listen"],
    ["Listen", "listen"],
    ["endpoint", "endpoints"],
    ["sesions", "session"],
    ["listen", "listen"],
  ];
  for (const [word, name] of table) {
    assertEquals(nearestName(word, KNOWN), name, word);
  }
});

test("nearestName() finds a word with one letter lost", () => {
  const cases = fc.tuple(fc.constantFrom(...KNOWN), fc.nat());
  fc.assert(fc.property(cases, ([name, seed]) => {
    const at = seed % name.length;
    const word = name.slice(0, at) + name.slice(at + 1);
    assertEquals(nearestName(word, KNOWN), name);
  }));
});
