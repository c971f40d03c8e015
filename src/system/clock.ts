/**
 * The real clock.
 *
 * Invariant: `nowMs` never goes backwards, even when the machine's time is
 * set back: it is the time of start plus a monotonic count.
 *
 * @module
 */
import type { Clock } from "../core/outside.ts";

/** Asking the runtime costs ten times as much as `Date.now`. */
let offsetMs = 0;
let lastMs = 0;

/** A step of the machine's time beyond this is checked, in milliseconds. */
const STEP_MS_MAX = 100;

/** Time as this process sees it. */
export const systemClock: Clock = {
  nowMs() {
    let now = Date.now() + offsetMs;
    if (now < lastMs || now > lastMs + STEP_MS_MAX) {
      // Time has passed unasked, or the machine's time was set: the monotonic
      // count says which.
      const exact = performance.timeOrigin + performance.now();
      offsetMs = exact - Date.now();
      now = Math.max(exact, lastMs);
    }
    lastMs = now;
    return now;
  },
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
