/**
 * Time passes in order, and only when nothing else can happen.
 *
 * Invariant: no test waits for real time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../leakproof.ts";
import { SimulatedClock } from "./virtual_clock.ts";

/** Nothing to do after a step. */
const QUIET = { afterStep: () => {} };

test("SimulatedClock fires in the order of time, then of setting", async () => {
  const delays = fc.array(fc.nat({ max: 20 }), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(delays, async (list) => {
      const clock = new SimulatedClock();
      const startMs = clock.nowMs();
      const fired: [number, number][] = [];
      list.forEach((delayMs, at) =>
        clock.after(delayMs, () => {
          assertEquals(clock.nowMs(), startMs + delayMs);
          fired.push([delayMs, at]);
        })
      );
      await clock.run(startMs + 20, QUIET);
      const wanted = list.map((delayMs, at): [number, number] => [delayMs, at])
        .sort(([a, i], [b, j]) => a - b || i - j);
      assertEquals(fired, wanted);
    }),
    { numRuns: 50 },
  );
});

test("SimulatedClock.run() stops at its time, or when it is over", async () => {
  const clock = new SimulatedClock();
  const startMs = clock.nowMs();
  let count = 0;
  for (const delayMs of [10, 20, 30]) clock.after(delayMs, () => count++);
  await clock.run(startMs + 20, QUIET);
  assertEquals([count, clock.nowMs() - startMs], [2, 20]);
  await clock.run(startMs + 50, { ...QUIET, isOver: () => count === 3 });
  assertEquals([count, clock.nowMs() - startMs], [3, 30]);
});

test("SimulatedClock forgets what is called off and fires late", async () => {
  const clock = new SimulatedClock();
  const startMs = clock.nowMs();
  const fired: number[] = [];
  const callOff = clock.after(5, () => fired.push(5));
  clock.after(10, () => fired.push(clock.nowMs() - startMs));
  clock.after(Infinity, () => fired.push(Infinity));
  callOff();
  clock.jump(100);
  await clock.run(startMs + 200, QUIET);
  assertEquals(fired, [100]);
});

test("SimulatedClock lets every microtask run before time passes", async () => {
  const clock = new SimulatedClock();
  let isDone = false;
  async function longChain(): Promise<void> {
    for (let i = 0; i < 10_000; i++) await Promise.resolve();
    isDone = true;
  }
  clock.after(1, () => void longChain());
  clock.after(2, () => assert(isDone));
  await clock.run(clock.nowMs() + 3, QUIET);
});
