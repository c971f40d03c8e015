/**
 * Notes how late this thread's event loop runs.
 *
 * Invariant: one timer is pending at a time, until the watch is called off.
 *
 * @module
 */
import type { LoopLags } from "../core/counting/loop_lag.ts";
import type { Clock } from "../core/outside.ts";

/**
 * 100 ms: a lag that somebody would notice is seen by the second timer at the
 * latest, and ten turns a second cost nothing.
 */
const TURN_MS = 100;

/** Watches thread number `thread` until the returned function is called. */
export function watchLoop(
  clock: Clock,
  lags: LoopLags,
  thread: number,
): () => void {
  const startMs = clock.nowMs();
  lags.begin(thread, startMs, startMs + TURN_MS);
  let cancel = clock.after(TURN_MS, turn);
  function turn(): void {
    const nowMs = clock.nowMs();
    lags.note(thread, nowMs, nowMs + TURN_MS);
    cancel = clock.after(TURN_MS, turn);
  }
  return () => cancel();
}
