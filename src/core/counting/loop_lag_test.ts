/**
 * The lag of event loops: the longest of the last windows, and what is overdue.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { LoopLags } from "./loop_lag.ts";

function newLags(): LoopLags {
  return new LoopLags(new SharedArrayBuffer(LoopLags.bytesFor(2)));
}

test("LoopLags shows nothing of a thread that never began", () => {
  const lags = newLags();
  lags.begin(0, 1_000, 1_100);
  assertEquals(lags.longestMs(1, 5_000), undefined);
  assertEquals(lags.longestMs(0, 1_050), 0);
});

test("LoopLags shows the longest lag for one to two windows", () => {
  const lags = newLags();
  lags.begin(1, 1_000, 1_100);
  lags.note(1, 1_107, 1_207);
  lags.note(1, 1_209, 1_309);
  // Early is not late.
  lags.note(1, 1_308, 1_408);
  assertEquals(lags.longestMs(1, 1_308), 7);
  lags.note(1, 20_999, 21_099);
  assertEquals(lags.longestMs(1, 20_999), 20_999 - 1_408);
  lags.note(1, 21_099, 21_199);
  assertEquals(lags.longestMs(1, 21_099), 20_999 - 1_408);
  lags.note(1, 41_099, 41_199);
  assertEquals(lags.longestMs(1, 41_099), 41_099 - 21_199);
  assertEquals(lags.longestMs(0, 41_099), undefined);
});

test("LoopLags shows a loop that hangs before it runs again", () => {
  const lags = newLags();
  lags.begin(0, 1_000, 1_100);
  assertEquals(lags.longestMs(0, 1_100), 0);
  assertEquals(lags.longestMs(0, 4_100), 3_000);
  lags.begin(0, 5_000, 5_100);
  assertEquals(lags.longestMs(0, 5_000), 0);
});
