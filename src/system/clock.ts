/**
 * The real clock.
 *
 * Invariant: `nowMs` never goes backwards, even when the machine's time is
 * set back: it is the time of start plus a monotonic count.
 *
 * @module
 */
import type { Clock } from "../core/outside.ts";

/** Time as this process sees it. */
export const systemClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
