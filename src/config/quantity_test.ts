/**
 * Tests of durations, sizes and numbers.
 *
 * Invariant: each table has bad input first, then the limits and their
 * neighbors.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { Refusal } from "./complaint.ts";
import { parseInteger, parseNumber } from "./number.ts";
import { parseDurationMs, parseSizeBytes, sizeText } from "./quantity.ts";

const BOUNDS = { min: 1024, max: 2 ** 20 };

test("parseDurationMs() refuses what is no duration", () => {
  const bad = [
    undefined,
    null,
    "",
    "5",
    5,
    5000,
    "none",
    "5 s",
    "5S",
    "1.5s",
    "-5s",
    "5sec",
    "s",
    "0s",
    "0ms",
    "25d",
    "2147483648ms",
    "999999999999999d",
    ["5s"],
  ];
  for (const value of bad) {
    assertThrows(() => parseDurationMs(value), Refusal, "must be", `${value}`);
  }
});

test("parseDurationMs() takes every unit", () => {
  const table: [string, number][] = [
    ["1ms", 1],
    ["500ms", 500],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["24d", 2_073_600_000],
    ["2147483647ms", 2_147_483_647],
  ];
  for (const [text, ms] of table) assertEquals(parseDurationMs(text), ms, text);
});

test("parseSizeBytes() refuses what is no size or out of bounds", () => {
  const bad = [
    undefined,
    null,
    true,
    "",
    "1MB",
    "1kib",
    "1 MiB",
    "1.5MiB",
    "-1",
    -2048,
    2048.5,
    1023,
    "1023",
    "1025KiB",
    "1GiB",
    [2048],
  ];
  for (const value of bad) {
    assertThrows(
      () => parseSizeBytes(value, BOUNDS),
      Refusal,
      "must be",
      `${value}`,
    );
  }
});

test("parseSizeBytes() takes units and bytes up to both bounds", () => {
  const table: [unknown, number][] = [
    [1024, 1024],
    ["1024", 1024],
    ["1024B", 1024],
    ["1KiB", 1024],
    ["64KiB", 65_536],
    ["1MiB", 1_048_576],
    [1_048_576, 1_048_576],
  ];
  for (const [value, bytes] of table) {
    assertEquals(parseSizeBytes(value, BOUNDS), bytes, `${value}`);
  }
});

test("parseSizeBytes() reads what sizeText() writes", () => {
  const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };
  fc.assert(fc.property(fc.nat(), fc.nat({ max: 30 }), (count, shift) => {
    const bytes = count * 2 ** shift;
    if (bytes > 9e15) return;
    assertEquals(parseSizeBytes(sizeText(bytes), bounds), bytes);
  }));
});

test("parseInteger() and parseNumber() keep their bounds", () => {
  const bounds = { min: 1, max: 64 };
  for (const bad of [0, 65, "0", "65", 1.5, "x", "", null, NaN, "1e1", [3]]) {
    assertThrows(() => parseInteger(bad, bounds), Refusal, "1 to 64", `${bad}`);
  }
  for (const bad of [0.99, 64.01, "x", "", null, NaN, Infinity, "-2"]) {
    assertThrows(() => parseNumber(bad, bounds), Refusal, "1 to 64", `${bad}`);
  }
  assertEquals([1, "1", 64, "64"].map((v) => parseInteger(v, bounds)), [
    1,
    1,
    64,
    64,
  ]);
  assertEquals(parseNumber("1.25", bounds), 1.25);
  const below = { min: -29, max: 0 };
  for (const bad of [-30, "-30", 1, "--1", "- 1", "-", "-1.5"]) {
    assertThrows(() => parseInteger(bad, below), Refusal, "-29 to 0", `${bad}`);
  }
  assertEquals([-29, "-29", 0, "0"].map((v) => parseInteger(v, below)), [
    -29,
    -29,
    0,
    0,
  ]);
});
