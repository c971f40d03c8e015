/**
 * Histograms of durations in the shared counters.
 *
 * A row of cells a value of the label: one for each bucket, one for what is
 * above the last, and the sum. A sample costs a short search and two
 * additions; the count of samples is the sum over the buckets.
 *
 * Invariant: each sample is in exactly one bucket, so that what is shown as
 * the count can never differ from what is shown as the last bucket, however
 * many threads add while it is read. Sums are kept in milliseconds, as the
 * clock gives them: whole ones add up exactly.
 *
 * @module
 */

/** One metric family of durations. */
export interface HistogramFamily {
  /** Prometheus name with `_seconds`. */
  readonly name: string;
  readonly help: string;
  /** Label name, or `undefined` for a single row. */
  readonly label: string | undefined;
  /** Values of the label; one row of cells each. `[""]` without a label. */
  readonly values: readonly string[];
  /** Upper bounds, included, in milliseconds and in rising order. */
  readonly bucketsMs: readonly number[];
}

/** Cells of one row: the buckets, one above them, and the sum. */
export function cellsPerRow(family: HistogramFamily): number {
  return family.bucketsMs.length + 2;
}

/** One worker's view of one family. */
export class Histogram {
  readonly #cells: Float64Array;
  readonly #boundsMs: Float64Array;
  readonly #offset: number;
  readonly #stride: number;

  /**
   * @param cells The worker's row of all counters.
   * @param offset Where the family begins in it.
   */
  constructor(family: HistogramFamily, cells: Float64Array, offset: number) {
    this.#cells = cells;
    this.#boundsMs = new Float64Array(family.bucketsMs);
    this.#offset = offset;
    this.#stride = cellsPerRow(family);
  }

  /**
   * Adds a sample of at least 0 milliseconds.
   *
   * @param index Of the label's value.
   */
  add(index: number, ms: number): void {
    const cells = this.#cells;
    const bounds = this.#boundsMs;
    const first = this.#offset + index * this.#stride;
    // From the lowest: most samples are of phases that take no time to speak
    // of, and end at the first comparison.
    let bucket = 0;
    while (bucket < bounds.length && ms > (bounds[bucket] ?? 0)) bucket++;
    cells[first + bucket] = (cells[first + bucket] ?? 0) + 1;
    const sum = first + bounds.length + 1;
    cells[sum] = (cells[sum] ?? 0) + ms;
  }
}
