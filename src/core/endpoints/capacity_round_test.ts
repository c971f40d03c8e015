/**
 * Rounds: what counts, when one ends, and who closes it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import {
  CapacityRounds,
  type EndedRound,
  type RoundSample,
} from "./capacity_round.ts";

/** Some day in the range of real clocks, which no word can hold. */
const START_MS = 1_764_000_000_000;

/** An answer that is fast, on a quiet endpoint. */
const FAST: RoundSample = {
  sentAtMs: START_MS,
  isFast: true,
  inFlight: 1,
  limit: 64,
};
const SLOW: RoundSample = { ...FAST, isFast: false };

function newRounds(): CapacityRounds {
  return new CapacityRounds(new SharedArrayBuffer(CapacityRounds.BYTES));
}

/** Adds an answer until it ends the round; at most `times`. */
function addUntil(
  rounds: CapacityRounds,
  sample: RoundSample,
  times: number,
): EndedRound | undefined {
  let round: EndedRound | undefined;
  for (let count = 0; count < times && round === undefined; count++) {
    round = rounds.add(0, sample);
  }
  return round;
}

test("a round without a fast answer has as many as the limit, of a high one 128", () => {
  const rows: [limit: number, count: number][] = [
    [8, 16],
    [16, 16],
    [17, 17],
    [127, 127],
    [128, 128],
    [129, 128],
    [8_192, 128],
  ];
  for (const [limit, count] of rows) {
    const round = addUntil(newRounds(), { ...SLOW, limit }, 2_000);
    assertEquals([round?.count, round?.fastCount], [count, 0]);
  }
});

test("a round ends with a fast answer once it has enough", () => {
  const rows: [slow: number, count: number][] = [
    [0, 16],
    [15, 16],
    [16, 17],
    [40, 41],
  ];
  for (const [slow, count] of rows) {
    const rounds = newRounds();
    for (let i = 0; i < slow; i++) rounds.add(0, SLOW);
    assertEquals(addUntil(rounds, FAST, 20)?.count, count, `${slow}`);
  }
});

test("where fast answers are rare, more are awaited", () => {
  const rounds = newRounds();
  // One in 41, often enough to be believed.
  for (let times = 0; times < 40; times++) {
    for (let i = 0; i < 40; i++) rounds.add(0, SLOW);
    const round = rounds.add(0, FAST);
    assert(round !== undefined);
    rounds.learnFast(0, round);
    rounds.open(0, START_MS);
  }
  const count = addUntil(rounds, SLOW, 2_000)?.count ?? 0;
  assert(count > 200 && count <= 6 * 41, `${count}`);
});

test("a round remembers how full the endpoint was at most", () => {
  const rows: [inFlight: number, flags: [boolean, boolean, boolean]][] = [
    [8, [false, false, false]],
    [9, [true, false, false]],
    [32, [true, false, false]],
    [33, [true, true, false]],
    [63, [true, true, false]],
    [64, [true, true, true]],
    [70, [true, true, true]],
  ];
  for (const [inFlight, flags] of rows) {
    const rounds = newRounds();
    rounds.add(0, { ...FAST, inFlight });
    const round = addUntil(rounds, FAST, 20);
    assertEquals(
      [round?.isLoaded, round?.isHalfFull, round?.isReached],
      flags,
      `${inFlight}`,
    );
  }
});

test("only answers to what was sent after the beginning count", () => {
  const rows: [beforeMs: number, counts: boolean][] = [
    [1, false],
    [20_000, false],
    [0, true],
    [-1, true],
    // On a clock modulo 2^32 ms: 30 days after the beginning.
    [-2_592_000_000, true],
  ];
  for (const [beforeMs, counts] of rows) {
    for (const startMs of [START_MS, 2 ** 31 + 3, 2 ** 32 + 3]) {
      const rounds = newRounds();
      rounds.open(0, startMs);
      const sample = { ...FAST, sentAtMs: startMs - beforeMs };
      const round = addUntil(rounds, sample, 20);
      assertEquals(round !== undefined, counts, `${beforeMs}`);
    }
  }
});

test("while a round is being closed nobody counts, closes or restarts", () => {
  const rounds = newRounds();
  assert(addUntil(rounds, FAST, 16) !== undefined);
  assertEquals(addUntil(rounds, FAST, 100), undefined);
  rounds.restart(0, START_MS);
  assertEquals(addUntil(rounds, FAST, 100), undefined);
  rounds.open(0, START_MS);
  assertEquals(addUntil(rounds, FAST, 15), undefined);
  assert(addUntil(rounds, FAST, 1) !== undefined);
});

test("restart() gives up what has been counted", () => {
  const rounds = newRounds();
  assertEquals(addUntil(rounds, FAST, 15), undefined);
  rounds.restart(0, START_MS + 1);
  assertEquals(addUntil(rounds, FAST, 100), undefined, "sent before");
  const later = { ...FAST, sentAtMs: START_MS + 1 };
  assertEquals(addUntil(rounds, later, 15), undefined);
  assert(addUntil(rounds, later, 1) !== undefined);
});

test("rounds go on after their numbers have come around", () => {
  const rounds = newRounds();
  for (let number = 0; number < 9_000; number++) {
    assertEquals(addUntil(rounds, FAST, 20)?.count, 16, `${number}`);
    rounds.open(0, START_MS);
    const before = { ...FAST, sentAtMs: START_MS - 1 };
    assertEquals(rounds.add(0, before), undefined);
  }
});
