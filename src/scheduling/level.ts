/**
 * Service as a level: each level is twice as wide as the one before it.
 *
 * Doubling keeps calls of like size together at every size: a second matters
 * between short sessions and not between long ones. Levels are what keeps an
 * order by service from degenerating to taking turns (Autellix, 4.2).
 *
 * Invariant: any number has a level, from 0 to `LEVEL_COUNT - 1`, and a larger
 * number never has a lower one.
 *
 * @module
 */
import { LEVEL_COUNT } from "../core/scheduling_policy.ts";

/**
 * Service below which all sessions are alike, in milliseconds: about what an
 * ordinary conversation takes as a whole.
 *
 * The queue then has such sessions go on before new ones begin, and only long
 * runs make way. With a quantum of one short answer every newcomer goes before
 * everybody who has begun: more sessions are alive at once than an engine's
 * prefix cache holds, each call is prefilled anew, and all of them get slower.
 */
export const QUANTUM_MS = 60_000;

/** From here on all sizes share the last level; it must stay below 2^31. */
const TOP_RATIO = 2 ** (LEVEL_COUNT - 2);

/**
 * Level 0 below 1, then one more with each doubling: 1 from 1, 2 from 2, 3
 * from 4.
 *
 * @param ratio A size in relation to the width of level 0. What is no number
 * counts as nothing.
 */
export function levelOf(ratio: number): number {
  if (!(ratio >= 1)) return 0;
  if (ratio >= TOP_RATIO) return LEVEL_COUNT - 1;
  // Leading zeros of the whole part are exact, where a logarithm may round.
  return 32 - Math.clz32(ratio);
}
