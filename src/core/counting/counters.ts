/**
 * Counters of all workers in one shared buffer.
 *
 * Each worker adds to its own row, so that no two threads write one cell and
 * counting costs a plain addition; whoever reads sums the rows. A worker that
 * replaces a dead one goes on with its row, so counts never fall.
 *
 * Invariant: the number of cells is fixed when the gateway starts. A label's
 * values are a closed list; what is not on it is counted as `other`, and no
 * session key, model or path ever becomes a label by itself.
 *
 * @module
 */

import { cellsPerRow, type HistogramFamily } from "./histogram.ts";

/** One metric family: a name, and the values of its only label, if any. */
export interface CounterFamily {
  /** Prometheus name with `_total`. */
  readonly name: string;
  readonly help: string;
  /** Label name, or `undefined` for a single cell. */
  readonly label: string | undefined;
  /** Values of the label; one cell each. `[""]` without a label. */
  readonly values: readonly string[];
}

/** Where each family's cells lie in a row. */
export class CounterLayout {
  readonly families: readonly CounterFamily[];
  readonly histograms: readonly HistogramFamily[];
  readonly cellCount: number;
  readonly #offsets = new Map<string, number>();

  constructor(
    families: readonly CounterFamily[],
    histograms: readonly HistogramFamily[] = [],
  ) {
    this.families = families;
    this.histograms = histograms;
    let cells = 0;
    for (const family of families) {
      this.#offsets.set(family.name, cells);
      cells += family.values.length;
    }
    for (const family of histograms) {
      this.#offsets.set(family.name, cells);
      cells += family.values.length * cellsPerRow(family);
    }
    this.cellCount = cells;
  }

  /** The first cell of a family; its values follow in order. */
  offset(name: string): number {
    const offset = this.#offsets.get(name);
    if (offset === undefined) throw new Error(`Cannot find counter "${name}"`);
    return offset;
  }

  /** The cell of one value; values not on the list share `other`. */
  cell(name: string, value = ""): number {
    const family = this.families.find((family) => family.name === name);
    const offset = this.offset(name);
    const values = family?.values ?? [];
    const index = values.indexOf(value);
    if (index >= 0) return offset + index;
    const other = values.indexOf("other");
    if (other >= 0) return offset + other;
    throw new Error(`Cannot count "${value}" under "${name}"`);
  }
}

/** What a histogram holds for one value of its label, over all rows. */
export interface HistogramSums {
  /** Samples by bucket, none counted twice; the last is above all bounds. */
  readonly bucketCounts: readonly number[];
  readonly sumMs: number;
}

/** One float of 8 bytes a cell: exact up to 2^53 counts. */
const CELL_BYTES = 8;

/** The rows of all workers. */
export class Counters {
  readonly layout: CounterLayout;
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Float64Array;

  /** @param buffer Of `bytesFor` the same layout, shared by all threads. */
  constructor(layout: CounterLayout, buffer: SharedArrayBuffer) {
    this.layout = layout;
    this.buffer = buffer;
    this.#cells = new Float64Array(buffer);
  }

  /** Size of the buffer for `rowCount` workers. */
  static bytesFor(layout: CounterLayout, rowCount: number): number {
    return layout.cellCount * rowCount * CELL_BYTES;
  }

  /** The cells that worker number `index` adds to. */
  row(index: number): Float64Array {
    const { cellCount } = this.layout;
    return this.#cells.subarray(index * cellCount, (index + 1) * cellCount);
  }

  /** The sum of one cell over all rows. */
  sum(cell: number): number {
    let sum = 0;
    for (let at = cell; at < this.#cells.length; at += this.layout.cellCount) {
      sum += this.#cells[at] ?? 0;
    }
    return sum;
  }
  /** The sums of one value's row of a histogram. */
  histogram(family: HistogramFamily, index: number): HistogramSums {
    const cellCount = cellsPerRow(family);
    const first = this.layout.offset(family.name) + index * cellCount;
    const sums = Array.from(
      { length: cellCount },
      (_, cell) => this.sum(first + cell),
    );
    return { bucketCounts: sums.slice(0, -1), sumMs: sums.at(-1) ?? 0 };
  }
}
