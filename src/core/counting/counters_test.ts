/**
 * Cells do not overlap, and sums are over the rows of all workers.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { type CounterFamily, CounterLayout, Counters } from "./counters.ts";
import { Histogram, type HistogramFamily } from "./histogram.ts";

function counter(name: string, values: readonly string[]): CounterFamily {
  return { name, help: "A test.", label: "value", values };
}

function histogram(name: string, values: readonly string[]): HistogramFamily {
  return { ...counter(name, values), bucketsMs: [1, 2] };
}

const LATENCY = histogram("latency", ["x", "y"]);
const WAIT = histogram("wait", [""]);
const LAYOUT = new CounterLayout(
  [counter("first", ["a", "b"]), counter("second", ["c", "other"])],
  [LATENCY, WAIT],
);

test("CounterLayout refuses what it does not know", () => {
  assertThrows(() => LAYOUT.offset("third"), Error, '"third"');
  assertThrows(() => LAYOUT.cell("third", "a"), Error, '"third"');
  assertThrows(() => LAYOUT.cell("first", "c"), Error, '"c" under "first"');
});

test("CounterLayout lays out families one after the other", () => {
  const cells: readonly [string, number][] = [
    ["first", 0],
    ["second", 2],
    ["latency", 4],
    ["wait", 12],
  ];
  for (const [name, offset] of cells) {
    assertEquals(LAYOUT.offset(name), offset, name);
  }
  assertEquals(LAYOUT.cellCount, 16);
  assertEquals(LAYOUT.cell("first", "b"), 1);
  assertEquals(LAYOUT.cell("second", "unheard of"), 3);
});

test("Counters sum cells and histograms over the rows of all workers", () => {
  const buffer = new SharedArrayBuffer(Counters.bytesFor(LAYOUT, 2));
  const counters = new Counters(LAYOUT, buffer);
  for (const [index, ms] of [[0, 1], [1, 2], [1, 3]] as const) {
    const row = counters.row(index);
    new Histogram(LATENCY, row, LAYOUT.offset("latency")).add(1, ms);
    row[1] = (row[1] ?? 0) + 1;
  }
  assertEquals(counters.sum(LAYOUT.cell("first", "b")), 3);
  assertEquals(counters.histogram(LATENCY, 1), {
    bucketCounts: [1, 1, 1],
    sumMs: 6,
  });
  for (const [family, index] of [[LATENCY, 0], [WAIT, 0]] as const) {
    assertEquals(counters.histogram(family, index), {
      bucketCounts: [0, 0, 0],
      sumMs: 0,
    });
  }
});
