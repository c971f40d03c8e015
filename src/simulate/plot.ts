/**
 * The plot of an experiment: mean response against load, a line for each
 * contender, as SVG text.
 *
 * The vertical axis is logarithmic, as a contender past its knee is off any
 * other scale. Lines are named at their right end, so that nobody has to match
 * colors with a legend.
 *
 * Invariant: the text is a whole document without scripts or references, and
 * the same rows give the same text.
 *
 * @module
 */
import type { ExperimentRow } from "./experiment.ts";

/** Loads that show where each contender has its knee. */
export const PLOT_LOADS: readonly number[] = [0.7, 0.85, 0.9, 0.95];

/** Sizes in pixels. */
const WIDTH = 460;
const HEIGHT = 340;
const LEFT = 56;
const RIGHT = 150;
const TOP = 40;
const BOTTOM = 44;

/** Least distance between two names at the right. */
const NAME_STEP = 13;

/** Distinct also for the color-blind (Okabe and Ito, 2008). */
const COLORS = [
  "#999999",
  "#56b4e9",
  "#cc79a7",
  "#e69f00",
  "#d55e00",
  "#0072b2",
  "#f0a0a0",
  "#009e73",
];

/** One line of a panel. */
interface Line {
  readonly contender: string;
  readonly color: string;
  readonly points: readonly {
    readonly load: number;
    readonly meanMs: number;
  }[];
}

/** Draws a panel for each number of engines, side by side. */
export function plotOf(rows: readonly ExperimentRow[]): string {
  const panels = [...new Set(rows.map(panelName))];
  const contenders = [...new Set(rows.map(({ contender }) => contender))];
  const drawn = panels.map((name, at) => {
    const own = rows.filter((row) => panelName(row) === name);
    const lines = contenders.map((contender, index) => ({
      contender,
      color: COLORS[index % COLORS.length] ?? "#000000",
      points: meansByLoad(own.filter((row) => row.contender === contender)),
    }));
    return `<g transform="translate(${at * WIDTH} 0)">` +
      `${panelOf(name, lines)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${
      panels.length * WIDTH
    }" height="${HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}

function panelName({ engineCount, workload }: ExperimentRow): string {
  return `${workload}, ${engineCount} engine${engineCount === 1 ? "" : "s"}`;
}

/** Means over the seeds of each load, by load. */
function meansByLoad(rows: readonly ExperimentRow[]): Line["points"] {
  const loads = [...new Set(rows.map(({ load }) => load))];
  return loads.toSorted((one, other) => one - other).map((load) => {
    const means = rows.filter((row) => row.load === load)
      .map(({ figures }) => figures.meanMs);
    const sum = means.reduce((total, meanMs) => total + meanMs, 0);
    return { load, meanMs: sum / means.length };
  });
}

function panelOf(name: string, lines: readonly Line[]): string {
  const points = lines.flatMap((line) => line.points);
  const loads = points.map(({ load }) => load);
  const [from, to] = [Math.min(...loads), Math.max(...loads)];
  const seconds = points.map(({ meanMs }) => meanMs / 1_000);
  const low = Math.floor(Math.log2(Math.min(...seconds)));
  const high = Math.ceil(Math.log2(Math.max(...seconds)) + 1e-9);
  const x = (load: number) =>
    LEFT +
    (WIDTH - LEFT - RIGHT) * (to === from ? 0.5 : (load - from) / (to - from));
  const y = (ms: number) =>
    HEIGHT - BOTTOM -
    (HEIGHT - TOP - BOTTOM) * (Math.log2(ms / 1_000) - low) / (high - low);
  return [
    text(
      LEFT,
      TOP - 20,
      `Mean program response, ${name}`,
      `font-weight="bold"`,
    ),
    ...gridOf({ low, high, loads: [...new Set(loads)] }, { x, y }),
    ...lines.map(({ color, points }) => {
      const path = points.map(({ load, meanMs }) =>
        `${x(load).toFixed(1)},${y(meanMs).toFixed(1)}`
      ).join(" ");
      return `<polyline points="${path}" fill="none" stroke="${color}" ` +
        `stroke-width="2"/>`;
    }),
    ...namesOf(lines, y),
  ].join("\n");
}

function gridOf(
  { high, loads, low }: {
    readonly low: number;
    readonly high: number;
    readonly loads: readonly number[];
  },
  { x, y }: {
    readonly x: (load: number) => number;
    readonly y: (ms: number) => number;
  },
): string[] {
  const grid: string[] = [];
  for (let power = low; power <= high; power++) {
    const at = y(2 ** power * 1_000);
    grid.push(
      `<path d="M${LEFT} ${at.toFixed(1)}H${WIDTH - RIGHT}" stroke="#e5e5e5"/>`,
      text(LEFT - 6, at + 4, `${2 ** power} s`, `text-anchor="end"`),
    );
  }
  const bottom = HEIGHT - BOTTOM + 16;
  for (const load of loads) {
    grid.push(text(x(load), bottom, load.toFixed(2), `text-anchor="middle"`));
  }
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  grid.push(text(middle, bottom + 18, "load", `text-anchor="middle"`));
  return grid;
}

/** Names at the right ends, from the top, apart from each other. */
function namesOf(
  lines: readonly Line[],
  y: (ms: number) => number,
): string[] {
  let lowest = -Infinity;
  return lines.flatMap(({ color, contender, points }) => {
    const last = points.at(-1);
    return last === undefined ? [] : [{ color, contender, at: y(last.meanMs) }];
  }).toSorted((one, other) => one.at - other.at).map(
    ({ at, color, contender }) => {
      lowest = Math.max(at + 4, lowest + NAME_STEP);
      return text(WIDTH - RIGHT + 8, lowest, contender, `fill="${color}"`);
    },
  );
}

function text(x: number, y: number, words: string, attributes = ""): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>` +
    `${words}</text>`;
}
