/**
 * The histograms of the shared counters on the metrics page.
 *
 * prom-client's own histogram can only observe samples one at a time. This one
 * is told by the counters how many there are, and leaves the text to the
 * registry.
 *
 * Invariant: as in `metrics.ts`, values are read when the page is asked for.
 * Buckets are cumulative there, the last one is `+Inf`, and the count is what
 * that one says.
 *
 * @module
 */
import { Histogram, type Registry } from "prom-client";
import type { Counters } from "../../core/counting/counters.ts";
import type { HistogramFamily } from "../../core/counting/histogram.ts";

/** The page is in seconds, the base unit of Prometheus. */
const MS_PER_SECOND = 1_000;

/** Puts the families that the workers measure on the page. */
export function registerHistograms(
  counters: Counters,
  registers: Registry[],
): void {
  for (const family of counters.layout.histograms) {
    new SharedHistogram(counters, family, registers);
  }
}

/** One family, read from the counters. */
class SharedHistogram extends Histogram {
  readonly #counters: Counters;
  readonly #family: HistogramFamily;

  constructor(
    counters: Counters,
    family: HistogramFamily,
    registers: Registry[],
  ) {
    super({
      name: family.name,
      help: family.help,
      labelNames: family.label === undefined ? [] : [family.label],
      buckets: family.bucketsMs.map((ms) => ms / MS_PER_SECOND),
      registers,
    });
    this.#counters = counters;
    this.#family = family;
  }

  /**
   * What the registry prints, and what the inherited `get` returns: prom-client
   * has this method in every histogram, though its types leave it out.
   */
  getForPromString(): Promise<Lines> {
    const { help, name, values } = this.#family;
    return Promise.resolve({
      name,
      help,
      type: "histogram",
      values: values.flatMap((_, index) => this.#row(index)),
    });
  }

  /** The lines of one value of the label. */
  #row(index: number): Line[] {
    const family = this.#family;
    const { bucketCounts, sumMs } = this.#counters.histogram(family, index);
    const { bucketsMs, label, name, values } = family;
    const sharedLabels = label === undefined
      ? {}
      : { [label]: values[index] ?? "" };
    const line = (kind: string, value: number, labels = {}): Line => ({
      metricName: `${name}_${kind}`,
      labels,
      sharedLabels,
      value,
    });
    let count = 0;
    const buckets = bucketCounts.map((added, bucket) => {
      const ms = bucketsMs[bucket];
      const le = ms === undefined ? "+Inf" : ms / MS_PER_SECOND;
      count += added;
      return line("bucket", count, { le });
    });
    return [
      ...buckets,
      line("sum", sumMs / MS_PER_SECOND),
      line("count", count),
    ];
  }
}

/** One line of the page. */
interface Line {
  readonly metricName: string;
  readonly labels: Record<string, string | number>;
  readonly sharedLabels: Record<string, string>;
  readonly value: number;
}

/** One family, as the registry takes it. */
interface Lines {
  readonly name: string;
  readonly help: string;
  readonly type: "histogram";
  readonly values: Line[];
}
