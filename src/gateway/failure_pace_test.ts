/**
 * No failure is lost: each is told of, or counted in time.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import { FailurePace } from "./failure_pace.ts";

/** A pace on a clock that stands still, and the counts it has told. */
function newPace() {
  const clock = new VirtualClock();
  const counts: unknown[] = [];
  const pace = new FailurePace({
    clock,
    log: (_level, _event, fields) => void counts.push(fields?.["count"]),
  });
  /** Fails so many times at once; how many may be told of. */
  const fail = (times: number) => {
    let told = 0;
    for (let failed = 0; failed < times; failed++) {
      if (pace.mayTell(clock.nowMs())) told++;
    }
    return told;
  };
  return { clock, counts, fail, pace };
}

test("a pace tells of a hundred failures a second, and counts the rest", async () => {
  const table: [failed: number, told: number, counts: number[]][] = [
    [0, 0, []],
    [99, 99, []],
    [100, 100, []],
    [101, 100, [1]],
    [1_000, 100, [900]],
  ];
  for (const [failed, told, expected] of table) {
    const { clock, counts, fail } = newPace();
    assertEquals(fail(failed), told);
    assertEquals(counts, []);
    await clock.advance(1_000);
    assertEquals(counts, expected);
    assertEquals(clock.timerCount, 0);
    assertEquals(fail(failed), told, "the next second is a new one");
  }
});

test("a pace tells once a second for as long as failures are left out", async () => {
  const { clock, counts, fail } = newPace();
  for (let second = 0; second < 3; second++) {
    fail(150);
    await clock.advance(1_000);
  }
  assertEquals(counts, [50, 50, 50]);
});

test("a pace that closes tells what is left, and what fails by that", async () => {
  const { clock, counts, fail, pace } = newPace();
  fail(103);
  pace.close();
  assertEquals(counts, [3]);
  assertEquals(clock.timerCount, 0);
  assertEquals(fail(7), 0);
  await clock.advance(0);
  assertEquals(counts, [3, 7]);
  assertEquals(clock.timerCount, 0);
  pace.close();
  assertEquals(counts, [3, 7]);
});
