/**
 * Seeded chance for a simulated world.
 *
 * Every part of a world draws from a stream of its own, so that one more draw
 * in one part does not change what all the others do.
 *
 * Invariant: equal seeds and names give equal draws on every machine.
 *
 * @module
 */
import { SeededRandom } from "../fuzz/random.ts";

/** FNV-1a, 32 bits (Fowler, Noll, Vo; RFC 9923), to turn a name into a seed. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** 2^32: `unit` draws as finely as the generator does. */
const DRAWS = 0x100000000;

/** One stream of draws. */
export class Chance extends SeededRandom {
  readonly #seed: number;

  constructor(seed: number) {
    super(seed);
    this.#seed = seed;
  }

  /** A stream of its own for the part called `name`. */
  fork(name: string): Chance {
    return new Chance(hashText(name, this.#seed));
  }

  /** A number in [0, 1). */
  unit(): number {
    return this.below(DRAWS) / DRAWS;
  }

  /** Whether an event of probability `p` happens; always one draw. */
  happens(p: number): boolean {
    return this.unit() < p;
  }

  /** An integer from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }
}

/** A 32-bit hash of `text`, another one for each `seed`. */
export function hashText(text: string, seed = 0): number {
  let hash = FNV_OFFSET ^ seed;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
  }
  return hash >>> 0;
}
