/**
 * How long a duration may be, for whoever reads one and whoever derives one.
 *
 * Invariant: a timer can take every duration.
 *
 * @module
 */

/**
 * Longest duration, in milliseconds: timers take a signed 32-bit number, and
 * fire at once when given more.
 */
export const DURATION_MS_MAX = 2 ** 31 - 1;
