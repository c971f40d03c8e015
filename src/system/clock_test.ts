/**
 * The clock goes forward, whatever the machine's time does.
 *
 * @module
 */
import { assert } from "@std/assert";
import { stub } from "@std/testing/mock";
import { test } from "../../tests/leakproof.ts";
import { systemClock } from "./clock.ts";

/** An hour, by which somebody sets the machine's time. */
const HOUR_MS = 3_600_000;

test("systemClock.nowMs() neither goes back nor jumps when the time is set", () => {
  const before = systemClock.nowMs();
  for (const stepMs of [-HOUR_MS, HOUR_MS, 0]) {
    const realNow = Date.now;
    using _set = stub(Date, "now", () => realNow() + stepMs);
    let last = systemClock.nowMs();
    for (let i = 0; i < 1_000; i++) {
      const now = systemClock.nowMs();
      assert(now >= last, `${now} comes after ${last}`);
      last = now;
    }
    // Far more than this test takes, far less than the step.
    assert(last - before < HOUR_MS / 60, `${last - before} ms have passed`);
  }
});
