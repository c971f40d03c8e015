/**
 * The baseline of times to first byte, and how it is forgotten.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { FirstByteBaselines } from "./first_byte_baseline.ts";

/** Half of the window. */
const HALF_MS = 300_000;

/** Some day in the range of real clocks, which no word can hold. */
const START_MS = 1_764_000_000_000;

function newBaselines(): FirstByteBaselines {
  const baselines = new FirstByteBaselines(
    new SharedArrayBuffer(FirstByteBaselines.BYTES),
  );
  baselines.turn(3, START_MS);
  return baselines;
}

/** A round of answers that are streams. */
function learn(baselines: FirstByteBaselines, timesMs: readonly number[]) {
  for (const timeMs of timesMs) baselines.note(3, "stream", timeMs);
  baselines.learn(3);
}

test("the baseline is the smallest second fastest time of a round", () => {
  const rows: [rounds: number[][], baselineMs: number][] = [
    [[], 0],
    [[[]], 0],
    [[[40]], 0],
    [[[40], [50]], 50],
    [[[50, 40]], 50],
    [[[40, 50]], 50],
    [[[70, 60, 50, 40]], 50],
    [[[10, 900, 900, 900]], 900],
    [[[30, 20], [90, 80]], 30],
    [[[90, 80], [30, 20]], 30],
    [[[0, 0.2]], 1],
    [[[1e300, Infinity]], 2 ** 29],
  ];
  for (const [rounds, baselineMs] of rows) {
    const baselines = newBaselines();
    for (const timesMs of rounds) learn(baselines, timesMs);
    const message = JSON.stringify(rounds);
    assertEquals(baselines.baselineMs(3, "stream"), baselineMs, message);
    assertEquals(baselines.baselineMs(3, "whole"), 0);
    assertEquals(baselines.baselineMs(2, "stream"), 0);
  }
});

test("fast is up to twice the baseline, or 100 ms over it", () => {
  const rows: [baselineMs: number, timeMs: number, isFast: boolean][] = [
    [50, 151, false],
    [50, 150, true],
    [50, 10, true],
    [100, 201, false],
    [100, 200, true],
    [400, 801, false],
    [400, 800, true],
  ];
  for (const [baselineMs, timeMs, isFast] of rows) {
    const baselines = newBaselines();
    assertEquals(baselines.note(3, "stream", 1e6), true, "nothing is known");
    baselines.learn(3);
    learn(baselines, [baselineMs, baselineMs]);
    const message = `${timeMs} at ${baselineMs}`;
    assertEquals(baselines.note(3, "stream", timeMs), isFast, message);
    assertEquals(baselines.note(3, "whole", 1e6), true, "another kind");
  }
});

test("a minimum is forgotten after two half-windows with answers", () => {
  const baselines = newBaselines();
  learn(baselines, [50, 50]);
  baselines.turn(3, START_MS);
  assertEquals(baselines.baselineMs(3, "stream"), 50);
  baselines.turn(3, START_MS);
  assertEquals(baselines.baselineMs(3, "stream"), 50, "after silence");
  learn(baselines, [400, 400]);
  assertEquals(baselines.baselineMs(3, "stream"), 50);
  baselines.turn(3, START_MS);
  assertEquals(baselines.baselineMs(3, "stream"), 400);
});

test("a half-window that has seen nothing near the former is unconfirmed", () => {
  const rows: [formerMs: number, timeMs: number | undefined, is: boolean][] = [
    [50, 76, false],
    [50, 75, true],
    [400, 501, false],
    [400, 500, true],
    [400, 20, true],
    [400, undefined, true],
  ];
  for (const [formerMs, timeMs, isConfirmed] of rows) {
    const baselines = newBaselines();
    assertEquals(baselines.isConfirmed(3), true);
    learn(baselines, [formerMs, formerMs]);
    assertEquals(baselines.isConfirmed(3), true);
    baselines.turn(3, START_MS);
    if (timeMs !== undefined) learn(baselines, [timeMs, timeMs]);
    assertEquals(baselines.isConfirmed(3), isConfirmed, `${timeMs}`);
  }
});

test("a half-window is over after five minutes, on any clock", () => {
  for (const startMs of [0, START_MS, 2 ** 32 - 1, 2 ** 31 - 5]) {
    const baselines = newBaselines();
    baselines.turn(3, startMs);
    const rows: [ageMs: number, isOver: boolean][] = [
      [-2, false],
      [0, false],
      [HALF_MS - 1, false],
      [HALF_MS, true],
      // Thirty days.
      [2_592_000_000, true],
    ];
    for (const [ageMs, isOver] of rows) {
      assertEquals(baselines.isOver(3, startMs + ageMs), isOver, `${ageMs}`);
    }
  }
});
