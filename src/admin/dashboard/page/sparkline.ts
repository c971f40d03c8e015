/**
 * A line of five minutes without axes, drawn by uPlot.
 *
 * The number beside it is the figure; the line says where it comes from. A
 * screen reader gets the range in words.
 *
 * Invariant: nothing is drawn that cannot be seen, and a line that is removed
 * holds nothing.
 *
 * @module
 */
/// <reference lib="dom" />
import { type Series, SERIES_MAX } from "./series.ts";

/** The part of uPlot 1.6 that is used. */
interface Chart {
  setData(data: ChartData): void;
  setSize(size: { width: number; height: number }): void;
  redraw(rebuildPaths?: boolean): void;
  destroy(): void;
}

type ChartData = readonly [readonly number[], readonly (number | null)[]];

declare const uPlot: new (
  options: Readonly<Record<string, unknown>>,
  data: ChartData,
  parent: HTMLElement,
) => Chart;

/** What a line shows. */
export interface SparklineOptions {
  readonly parent: HTMLElement;
  readonly height: number;
  /** What the line is of, in words. */
  readonly name: string;
  readonly format: (value: number) => string;
  /** The value at the top; without it, the highest one shown. */
  readonly top?: number;
}

/** Room above the highest value, as a factor. */
const HEADROOM = 1.1;

const LINE_PX = 1.25;

const DARK = matchMedia("(prefers-color-scheme: dark)");

/** One line. */
export class Sparkline {
  readonly #options: SparklineOptions;
  readonly #chart: Chart;
  readonly #sized: ResizeObserver;
  readonly #seen: IntersectionObserver;
  readonly #recolor = () => this.#chart.redraw();
  #isSeen = false;
  #series: Series | undefined;

  constructor(options: SparklineOptions) {
    this.#options = options;
    const { parent, height } = options;
    parent.setAttribute("role", "img");
    this.#chart = new uPlot(
      chartOptions(options, () => this.#series),
      [[], []],
      parent,
    );
    this.#sized = new ResizeObserver(() => {
      const width = parent.clientWidth;
      if (width > 0) this.#chart.setSize({ width, height });
    });
    this.#sized.observe(parent);
    this.#seen = new IntersectionObserver((entries) => {
      this.#isSeen = entries.at(-1)?.isIntersecting ?? false;
      this.#draw();
    });
    this.#seen.observe(parent);
    DARK.addEventListener("change", this.#recolor);
  }

  /** Shows a series, which the line reads and does not keep a copy of. */
  update(series: Series): void {
    this.#series = series;
    this.#draw();
  }

  /** Gives everything back. */
  remove(): void {
    this.#sized.disconnect();
    this.#seen.disconnect();
    DARK.removeEventListener("change", this.#recolor);
    this.#chart.destroy();
  }

  #draw(): void {
    if (this.#series === undefined || !this.#isSeen || document.hidden) return;
    const { xs, ys } = this.#series;
    this.#chart.setData([xs, ys]);
    const label = `${this.#options.name}, last 5 minutes: ${this.#range(ys)}`;
    const { parent } = this.#options;
    if (parent.getAttribute("aria-label") === label) return;
    parent.setAttribute("aria-label", label);
    parent.title = label;
  }

  #range(ys: readonly (number | null)[]): string {
    const known = ys.filter((value) => value !== null);
    if (known.length === 0) return "nothing known";
    const { format } = this.#options;
    return `${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  }
}

function chartOptions(
  { parent, height, top }: SparklineOptions,
  series: () => Series | undefined,
): Readonly<Record<string, unknown>> {
  const color = (name: string) => () =>
    getComputedStyle(document.documentElement).getPropertyValue(name);
  const hidden = { show: false };
  return {
    width: Math.max(1, parent.clientWidth),
    height,
    padding: [2, 0, 2, 0],
    cursor: hidden,
    legend: hidden,
    axes: [hidden, hidden],
    scales: {
      x: {
        time: false,
        range: () => {
          const last = series()?.xs.at(-1) ?? 0;
          return [last - SERIES_MAX, last];
        },
      },
      y: {
        range: (
          _chart: unknown,
          _low: number | null,
          high: number | null,
        ) => [0, top ?? ((high ?? 0) * HEADROOM || 1)],
      },
    },
    series: [{}, {
      stroke: color("--line"),
      fill: color("--area"),
      width: LINE_PX,
      points: hidden,
      spanGaps: false,
    }],
  };
}
