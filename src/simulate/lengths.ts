/**
 * Whole numbers with a long tail and a known mean: calls of a program, tokens
 * of a prompt.
 *
 * The log-normal distribution, cut to 1 up to a maximum. Its median is solved
 * for, so that the mean is the one asked for in spite of the cut.
 *
 * Invariant: the mean over many samples is the mean asked for, no sample is
 * outside the bounds, and each takes one random number.
 *
 * @module
 */

/** What is asked for. */
export interface LengthsOptions {
  /** Over 1 and below the middle of the bounds. */
  readonly mean: number;
  /** The largest; at most 100,000. */
  readonly max: number;
  /** Standard deviation of the logarithm: 0.7 is mild, 1 has a long tail. */
  readonly spread: number;
}

/** A larger table would cost more than its tail could matter. */
const MAX_MAX = 100_000;

/** Halvings of the interval for the median: to one part in 10^12. */
const HALVINGS = 40;

/** A distribution of lengths. */
export class Lengths {
  /** The chance of at most 1, at most 2, ... */
  readonly #cumulative: Float64Array;

  /** @throws {RangeError} when no median gives that mean. */
  constructor(options: LengthsOptions) {
    const { mean, max, spread } = options;
    if (
      !Number.isInteger(max) || max > MAX_MAX || !(mean > 1) || !(spread > 0)
    ) {
      throw new RangeError(
        `Cannot draw lengths of mean ${mean} and spread ${spread} up to ` +
          `${max}: wanted are a mean over 1, a spread over 0 and a whole ` +
          `maximum up to ${MAX_MAX}`,
      );
    }
    // Low enough for a mean just over 1, and not so low that weights vanish.
    let low = -5 * spread * spread;
    let high = 2 * Math.log(max);
    for (let halving = 0; halving < HALVINGS; halving++) {
      const middle = (low + high) / 2;
      if (meanOf(weightsOf(middle, options)) < mean) low = middle;
      else high = middle;
    }
    const weights = weightsOf(low, options);
    const reached = meanOf(weights);
    if (Math.abs(reached - mean) > mean / 1_000) {
      throw new RangeError(
        `Cannot draw lengths up to ${max} with a mean of ${mean}: nearest is ` +
          `${reached}`,
      );
    }
    let sum = 0;
    this.#cumulative = weights.map((weight) => sum += weight);
  }

  /** Draws one. */
  draw(random: () => number): number {
    const table = this.#cumulative;
    const mark = random() * (table[table.length - 1] ?? 0);
    let low = 0;
    let high = table.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((table[middle] ?? 0) > mark) high = middle;
      else low = middle + 1;
    }
    return low + 1;
  }
}

/** Weights of 1 to `max`; the density at each. */
function weightsOf(logMedian: number, options: LengthsOptions): Float64Array {
  const { max, spread } = options;
  const weights = new Float64Array(max);
  for (let length = 1; length <= max; length++) {
    const z = (Math.log(length) - logMedian) / spread;
    weights[length - 1] = Math.exp(-z * z / 2) / length;
  }
  return weights;
}

function meanOf(weights: Float64Array): number {
  let sum = 0;
  let total = 0;
  weights.forEach((weight, at) => {
    sum += weight * (at + 1);
    total += weight;
  });
  return sum / total;
}
