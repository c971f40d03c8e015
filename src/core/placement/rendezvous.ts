/**
 * Rendezvous order, or highest random weight (Thaler and Ravishankar, 1998):
 * every endpoint draws a number from its id and the session key, and the
 * highest goes first.
 *
 * Gateways that have the same list agree without talking. Taking an endpoint
 * away moves its own sessions only, each to its next rank, which spreads them
 * over all others. The draw ends in a full finalizer: without one, endpoints
 * that differ in the last digit of a port hand all their sessions to one
 * neighbor. A weight w makes the score -w / ln u, which gives an endpoint
 * sessions in proportion to w (Schindelhauer and Schomaker, 2005).
 *
 * Ranks are drawn anew on each call of `next`, in time linear in the
 * endpoints: the second rank is needed rarely, and nothing has to be stored.
 *
 * Invariant: the order depends on key, ids and weights alone, never on the
 * order of the list, and does not change over versions; golden vectors in
 * `rendezvous_test.ts` hold it fixed.
 *
 * @module
 */
import { finalize32, type KeyHash } from "../hash.ts";
import type { Candidates, Ranking } from "../routing_policy.ts";

/** Folds the second lane of both hashes into the first. */
const LANE_FOLD = 0x9e3779b1;

/** The draws are the middles of 2^32 equal steps of (0, 1). */
const DRAWS = 0x100000000;

/** Ranks `candidates` for `key`. */
export function rankByRendezvous(
  key: KeyHash,
  candidates: Candidates,
): Ranking {
  return new RendezvousRanking(key, candidates);
}

class RendezvousRanking implements Ranking {
  readonly #key: KeyHash;
  readonly #candidates: Candidates;
  /** Equal weights: the draws themselves are in the order of the scores. */
  readonly #isUnweighted: boolean;
  #last = -1;
  #lastScore = Infinity;

  constructor(key: KeyHash, candidates: Candidates) {
    this.#key = key;
    this.#candidates = candidates;
    this.#isUnweighted = hasEqualWeights(candidates.weights);
  }

  next(): number {
    const { count, hashes, weights } = this.#candidates;
    const { a, b } = this.#key;
    const last = this.#last;
    const lastScore = this.#lastScore;
    const isUnweighted = this.#isUnweighted;
    let best = -1;
    let bestScore = -1;
    for (let index = 0; index < count; index++) {
      const draw = finalize32(
        (a ^ (hashes[2 * index] ?? 0)) +
          Math.imul(b ^ (hashes[2 * index + 1] ?? 0), LANE_FOLD),
      ) >>> 0;
      const score = isUnweighted
        ? draw
        : (weights[index] ?? 1) / -Math.log((draw + 0.5) / DRAWS);
      if (score < bestScore || score > lastScore) continue;
      if (score === lastScore && !isBefore(hashes, last, index)) continue;
      if (score === bestScore && !isBefore(hashes, index, best)) continue;
      best = index;
      bestScore = score;
    }
    this.#last = best;
    // After the last rank no score is low enough.
    this.#lastScore = best < 0 ? -1 : bestScore;
    return best;
  }
}

/** Whether `one` goes before `other` at equal scores: lower hash, then index. */
function isBefore(hashes: Int32Array, one: number, other: number): boolean {
  const a = (hashes[2 * one] ?? 0) - (hashes[2 * other] ?? 0);
  if (a !== 0) return a < 0;
  const b = (hashes[2 * one + 1] ?? 0) - (hashes[2 * other + 1] ?? 0);
  return b === 0 ? one < other : b < 0;
}

function hasEqualWeights(weights: Float64Array): boolean {
  for (let index = 1; index < weights.length; index++) {
    if (weights[index] !== weights[0]) return false;
  }
  return true;
}
