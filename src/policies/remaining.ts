/**
 * The endpoints that a ranking has not yielded yet, as a shuffled deck to draw
 * from.
 *
 * Invariant: each index is taken once, in constant time, and what remains is
 * in arbitrary order, so a policy must not read meaning into positions.
 *
 * @module
 */
import type { Candidates } from "../core/routing_policy.ts";

/** The indexes 0 to `count` - 1, less those taken. */
export class Remaining {
  // A plain array: a typed one of this size costs more than the draw.
  readonly #indexes: number[] = [];
  #count: number;

  constructor(count: number) {
    for (let index = 0; index < count; index++) this.#indexes.push(index);
    this.#count = count;
  }

  get count(): number {
    return this.#count;
  }

  /** The index at a position from 0 to `count` - 1. */
  at(position: number): number {
    return this.#indexes[position] ?? -1;
  }

  /** Takes the index at a position, which the last one then fills. */
  take(position: number): number {
    const index = this.at(position);
    this.#count--;
    this.#indexes[position] = this.at(this.#count);
    return index;
  }
}

/**
 * How loaded an endpoint would be with one more request, relative to its
 * weight. Counting the request itself lets idle endpoints of unlike weight
 * differ.
 */
export function loadOf(candidates: Candidates, index: number): number {
  return (candidates.inFlight(index) + 1) / (candidates.weights[index] ?? 1);
}
