/**
 * The secret by which a gateway's session table chooses buckets.
 *
 * Invariant: it comes from the operating system's generator, never from
 * `Math.random`, whose later draws follow from those that a client has seen.
 *
 * @module
 */
import type { PlaceSecret } from "../core/sessions/session_place.ts";

/** A secret for one process, which all of its threads share. */
export function drawPlaceSecret(): PlaceSecret {
  const [low = 0, high = 0] = crypto.getRandomValues(new Int32Array(2));
  return { low, high };
}
