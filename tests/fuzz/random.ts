/**
 * Seeded chance for fuzzers.
 *
 * Invariant: equal seeds give equal draws on every machine and version, so a
 * failure is repeated from the seed that it prints.
 *
 * @module
 */

/** Draws from a 32-bit generator (mulberry32, public domain). */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** An integer in `[0, limit)`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  }

  /** Whether an event of one in `n` happens. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  /** One of `items`, of which there is at least one. */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("Cannot pick from nothing");
    return item;
  }
}
