/**
 * Samples land in one bucket, the right one, and touch nothing else.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { cellsPerRow, Histogram, type HistogramFamily } from "./histogram.ts";

const FAMILY: HistogramFamily = {
  name: "tryst_test_seconds",
  help: "A test.",
  label: "phase",
  values: ["a", "b"],
  bucketsMs: [1, 10, 100],
};

/** Two rows of five cells, with one cell before them and one after. */
function newCells(): Float64Array {
  return new Float64Array(2 * cellsPerRow(FAMILY) + 2);
}

test("Histogram.add() counts a bound itself, and what is above all", () => {
  const rows: readonly { readonly ms: number; readonly bucket: number }[] = [
    { ms: 0, bucket: 0 },
    { ms: 1, bucket: 0 },
    { ms: 1.001, bucket: 1 },
    { ms: 10, bucket: 1 },
    { ms: 11, bucket: 2 },
    { ms: 100, bucket: 2 },
    { ms: 101, bucket: 3 },
    { ms: Number.MAX_SAFE_INTEGER, bucket: 3 },
  ];
  for (const { ms, bucket } of rows) {
    for (const index of [0, 1]) {
      const cells = newCells();
      new Histogram(FAMILY, cells, 1).add(index, ms);
      const first = 1 + index * 5;
      const expected = newCells();
      expected[first + bucket] = 1;
      expected[first + 4] = ms;
      assertEquals(cells, expected, `${ms} ms in row ${index}`);
    }
  }
});

test("Histogram.add() keeps every sample once, and their sum exactly", () => {
  const samples = fc.array(fc.nat(200), { maxLength: 50 });
  fc.assert(fc.property(samples, (samples) => {
    const cells = newCells();
    const histogram = new Histogram(FAMILY, cells, 1);
    for (const ms of samples) histogram.add(1, ms);
    const row = [...cells.subarray(6, 11)];
    const within = (low: number, high: number) =>
      samples.filter((ms) => ms > low && ms <= high).length;
    assertEquals(row, [
      within(-1, 1),
      within(1, 10),
      within(10, 100),
      within(100, Infinity),
      samples.reduce((sum, ms) => sum + ms, 0),
    ]);
    assertEquals(cells.subarray(0, 6), new Float64Array(6));
    assertEquals(cells.at(-1), 0);
  }));
});
