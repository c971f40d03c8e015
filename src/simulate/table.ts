/**
 * The table of an experiment: rows in, lines of text out.
 *
 * Invariant: columns are as wide as their widest cell, numbers stand to the
 * right, and the same rows give the same lines.
 *
 * @module
 */
import type { ExperimentRow } from "./experiment.ts";

/** A column: its head, and the cell of a row. */
type Column = readonly [string, (row: ExperimentRow) => string];

/** Columns of words, which stand to the left, come first. */
const WORD_COLUMNS = 2;

const COLUMNS: readonly Column[] = [
  ["workload", ({ workload }) => workload],
  ["contender", ({ contender }) => contender],
  ["engines", ({ engineCount }) => `${engineCount}`],
  ["load", ({ load }) => load.toFixed(2)],
  ["mean s", ({ figures }) => seconds(figures.meanMs)],
  ["p50", ({ figures }) => seconds(figures.p50Ms)],
  ["p95", ({ figures }) => seconds(figures.p95Ms)],
  ["p99", ({ figures }) => seconds(figures.p99Ms)],
  ["slowdown", ({ figures }) => figures.slowdown.toFixed(2)],
  ["fairness", ({ figures }) => figures.fairness.toFixed(2)],
  ["programs/s", ({ figures }) => figures.programsPerSecond.toFixed(3)],
  ["cache hits", ({ figures }) => `${(100 * figures.cacheHits).toFixed(1)} %`],
  ["longest wait s", ({ figures }) => seconds(figures.longestWaitMs)],
  ["queued", ({ figures }) => seconds(figures.longestQueuedMs)],
  ["spills", ({ figures }) => `${figures.spills}`],
  ["shed", ({ figures }) => `${figures.shed}`],
];

/** What the columns mean, for whoever reads the table. */
export const TABLE_LEGEND: readonly string[] = [
  "Response of programs, from arrival to the end of the last call: mean, p50,",
  "p95 and p99 in seconds. Slowdown: response over that of a program with an",
  "engine to itself. Fairness: Jain's index of slowdowns. Longest wait of a",
  "call before its prefill, and the part of it in the gateway's queue. Shed:",
  "programs that did not end, as a call waited for too long.",
];

/** A line of heads and one for each row. */
export function tableLines(rows: readonly ExperimentRow[]): string[] {
  const cells = [
    COLUMNS.map(([head]) => head),
    ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row))),
  ];
  const widths = COLUMNS.map((_, at) =>
    Math.max(...cells.map((line) => line[at]?.length ?? 0))
  );
  return cells.map((line) =>
    line.map((cell, at) => {
      const width = widths[at] ?? 0;
      return at < WORD_COLUMNS ? cell.padEnd(width) : cell.padStart(width);
    }).join("  ").trimEnd()
  );
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
