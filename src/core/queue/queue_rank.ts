/**
 * How urgent a waiting call is for a place, in one word that threads can share.
 *
 * From the top: 5 bits of level (0 is overdue, then the policy's levels), one
 * bit that is set unless the call's session is bound to the endpoint of the
 * place, and 25 bits of arrival. Smaller goes first.
 *
 * Arrivals wrap: two are compared by the shorter way around. Calls that wait
 * at the same time are never 2^24 arrivals apart, as waiting has a limit.
 *
 * Invariant: the order is total among calls that wait at the same time, so
 * every thread picks the same one.
 *
 * @module
 */
/** The word of a place that nobody waits for. */
export const NOBODY = -1;

const ARRIVAL_BITS = 25;
const ARRIVAL_MASK = (1 << ARRIVAL_BITS) - 1;
const AWAY_BIT = 1 << ARRIVAL_BITS;
const LEVEL_SHIFT = ARRIVAL_BITS + 1;

/** Moves the sign of a 25-bit difference to the sign of the word. */
const WRAP_SHIFT = 32 - ARRIVAL_BITS;

/**
 * Packs a rank.
 *
 * @param level The policy's level from 0, or -1 for an overdue call, which
 * goes by arrival alone.
 */
export function packRank(
  level: number,
  isAway: boolean,
  arrival: number,
): number {
  const away = isAway && level >= 0 ? AWAY_BIT : 0;
  return ((level + 1) << LEVEL_SHIFT) | away | (arrival & ARRIVAL_MASK);
}

/** Whether a call of rank `one` goes before one of rank `other`. */
export function goesBefore(one: number, other: number): boolean {
  const upper = (one >>> ARRIVAL_BITS) - (other >>> ARRIVAL_BITS);
  return upper === 0 ? ((one - other) << WRAP_SHIFT) < 0 : upper < 0;
}
