/**
 * What every fuzzer is told.
 *
 * Invariant: a run is its seeds: case `i` draws from `seed + i`, so any stretch
 * of a run is repeated by its first seed and its length.
 *
 * @module
 */

/** How much to fuzz. */
export interface FuzzOptions {
  /** The seed of the first case. */
  readonly seed: number;
  /** Cases to run. */
  readonly cases: number;
}
