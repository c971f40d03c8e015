/**
 * What an experiment comes to: ratios of means, and how much each contender
 * carries at an equal mean response.
 *
 * Invariant: every figure is worked out from the rows, and each ratio stands
 * beside what is wanted of it.
 *
 * @module
 */
import type { ExperimentRow } from "../../src/simulate/experiment.ts";

/** What is compared with what: ours, theirs, and the ratio wanted at most. */
const RATIOS = [
  ["las", "round_robin", 0.5],
  ["las", "fcfs", 0.7],
  ["las", "sticky", 0.7],
  ["las", "oracle", 1.3],
  ["critical_path", "fcfs", 0.7],
  ["critical_path", "oracle", 1.3],
] as const;

/**
 * The response at which throughputs are compared, in relation to that of first
 * come first served at the lowest load.
 */
const EQUAL_RESPONSE = 1.5;

/** Lines that sum the rows of one experiment up. */
export function summaryLines(rows: readonly ExperimentRow[]): string[] {
  const loads = [...new Set(rows.map(({ load }) => load))];
  const lines = loads.flatMap((load) => {
    const atLoad = rows.filter((row) => row.load === load);
    return RATIOS.flatMap(([ours, theirs, most]) => {
      const one = rowOf(atLoad, ours);
      const other = rowOf(atLoad, theirs);
      if (one === undefined || other === undefined) return [];
      const mean = one.figures.meanMs / other.figures.meanMs;
      const median = one.figures.p50Ms / other.figures.p50Ms;
      const p99 = one.figures.p99Ms / other.figures.p99Ms;
      return [
        `load ${load.toFixed(2)}: ${ours} / ${theirs}: mean ` +
        `${mean.toFixed(2)} (want at most ${most}), p50 ` +
        `${median.toFixed(2)}, p99 ${p99.toFixed(2)}`,
      ];
    });
  });
  return [...lines, ...throughputLines(rows)];
}

/** Programs a second at which each contender reaches an equal mean response. */
function throughputLines(rows: readonly ExperimentRow[]): string[] {
  const lowest = Math.min(...rows.map(({ load }) => load));
  const base = rows.find(({ contender, load }) =>
    contender === "fcfs" && load === lowest
  );
  if (base === undefined) return [];
  const limitMs = EQUAL_RESPONSE * base.figures.meanMs;
  const contenders = [...new Set(rows.map(({ contender }) => contender))];
  return contenders.map((name) => {
    const own = rows.filter(({ contender }) => contender === name);
    return `at a mean response of ${(limitMs / 1_000).toFixed(1)} s: ${name} ` +
      `carries ${carriedText(own, limitMs)}`;
  });
}

/** The rate at which the mean reaches a limit, between the loads measured. */
function carriedText(rows: readonly ExperimentRow[], limitMs: number): string {
  const byLoad = rows.toSorted((one, other) => one.load - other.load);
  const above = byLoad.findIndex(({ figures }) => figures.meanMs > limitMs);
  const last = byLoad.at(-1);
  if (above < 0) return `over ${last?.offered.toFixed(3)} programs/s`;
  const [one, other] = [byLoad[above - 1], byLoad[above]];
  if (one === undefined) return `under ${other?.offered.toFixed(3)} programs/s`;
  if (other === undefined) return "nothing";
  const share = (limitMs - one.figures.meanMs) /
    (other.figures.meanMs - one.figures.meanMs);
  const rate = one.offered + share * (other.offered - one.offered);
  return `${rate.toFixed(3)} programs/s`;
}

function rowOf(
  rows: readonly ExperimentRow[],
  name: string,
): ExperimentRow | undefined {
  return rows.find(({ contender }) => contender === name);
}
