/**
 * The baseline of times to first byte, and how it is forgotten.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
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

/** Size of the requests, unless another is given. */
const BYTES = 5_000;

/** A round of answers to requests of that size. */
function learn(baselines: FirstByteBaselines, timesMs: readonly number[]) {
  for (const timeMs of timesMs) baselines.note(3, BYTES, timeMs);
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
    assertEquals(baselines.baselineMs(3, BYTES), baselineMs, message);
    assertEquals(baselines.baselineMs(3, 4 * BYTES), 0);
    assertEquals(baselines.baselineMs(2, BYTES), 0);
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
    assertEquals(baselines.note(3, BYTES, 1e6), true, "nothing is known");
    baselines.learn(3);
    learn(baselines, [baselineMs, baselineMs]);
    const message = `${timeMs} at ${baselineMs}`;
    assertEquals(baselines.note(3, BYTES, timeMs), isFast, message);
    assertEquals(baselines.note(3, 4 * BYTES, 1e6), true, "another class");
  }
});

test("a minimum is forgotten after two half-windows with answers", () => {
  const baselines = newBaselines();
  learn(baselines, [50, 50]);
  baselines.turn(3, START_MS);
  assertEquals(baselines.baselineMs(3, BYTES), 50);
  baselines.turn(3, START_MS);
  assertEquals(baselines.baselineMs(3, BYTES), 50, "after silence");
  learn(baselines, [400, 400]);
  assertEquals(baselines.baselineMs(3, BYTES), 50);
  baselines.turn(3, START_MS);
  assertEquals(baselines.baselineMs(3, BYTES), 400);
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

test("requests are of one class up to twice the size", () => {
  const rows: [bytes: number | undefined, below: number][] = [
    [0, 2_048],
    [2_047, 2_048],
    [2_048, 4_096],
    [4_095, 4_096],
    [4_096, 8_192],
    [1_048_575, 1_048_576],
    [1_048_576, Infinity],
    [2 ** 31, Infinity],
    [1e15, Infinity],
    [undefined, NaN],
  ];
  for (const [bytes, below] of rows) {
    const baselines = newBaselines();
    for (const timeMs of [70, 80]) baselines.note(3, bytes, timeMs);
    baselines.learn(3);
    assertEquals([...baselines.baselines(3)], [[below, 80]], `${bytes}`);
    assertEquals(baselines.baselineMs(3, bytes), 80);
    assertEquals(baselines.baselines(2).size, 0);
  }
});

test("one class near its former minimum confirms all", () => {
  const baselines = newBaselines();
  const bothAt = (timesMs: readonly [number, number]) => {
    for (const [index, timeMs] of timesMs.entries()) {
      const bytes = index === 0 ? BYTES : 4 * BYTES;
      for (let count = 0; count < 2; count++) {
        baselines.note(3, bytes, timeMs);
      }
    }
    baselines.learn(3);
  };
  bothAt([100, 1_000]);
  baselines.turn(3, START_MS);
  bothAt([400, 4_000]);
  assertEquals(baselines.isConfirmed(3), false);
  bothAt([400, 1_100]);
  assertEquals(baselines.isConfirmed(3), true);
});

test("slowness is that of the class that is delayed least", () => {
  const baselines = newBaselines();
  learn(baselines, [100, 100]);
  assertEquals(baselines.slowness(3), 0, "nothing in this round");
  baselines.note(3, BYTES, 400);
  assertEquals(baselines.slowness(3), 0, "one answer");
  baselines.note(3, BYTES, 500);
  assertEquals(baselines.slowness(3), 5);
  for (const timeMs of [9, 9]) baselines.note(3, undefined, timeMs);
  assertEquals(baselines.slowness(3), 5, "another class without a baseline");
});

test("learnAnew() forgets what was faster, where something was seen", () => {
  const baselines = newBaselines();
  for (const bytes of [BYTES, 4 * BYTES]) {
    for (const timeMs of [50, 50]) baselines.note(3, bytes, timeMs);
  }
  baselines.learn(3);
  baselines.turn(3, START_MS);
  for (const timeMs of [900, 900]) baselines.note(3, BYTES, timeMs);
  baselines.learnAnew(3);
  assertEquals(baselines.baselineMs(3, BYTES), 900);
  assertEquals(baselines.baselineMs(3, 4 * BYTES), 50);
});
