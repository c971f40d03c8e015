/**
 * An experiment of several seeds in few lines: one for each load and contender.
 *
 * Ratios are geometric means over the seeds, as one seed whose caches collapse
 * would otherwise outweigh all others. What must hold in every seed is given by
 * its worst.
 *
 * Invariant: a contender is compared with another on the same seeds alone.
 *
 * @module
 */
import type { ExperimentRow } from "../../src/simulate/experiment.ts";

/** Whom each contender is compared with. */
const OTHERS = ["round_robin", "fcfs", "oracle"] as const;

/** Lines over the seeds of one workload on one number of engines. */
export function overSeedsLines(rows: readonly ExperimentRow[]): string[] {
  const loads = [...new Set(rows.map(({ load }) => load))];
  const contenders = [...new Set(rows.map(({ contender }) => contender))];
  return loads.flatMap((load) =>
    contenders.map((contender) => {
      const atLoad = rows.filter((row) => row.load === load);
      const own = atLoad.filter((row) => row.contender === contender);
      const means = own.map(({ figures }) => seconds(figures.meanMs));
      const waits = own.map(({ figures }) => figures.longestQueuedMs);
      const shed = own.reduce((sum, { figures }) => sum + figures.shed, 0);
      const ratios = OTHERS.flatMap((other) => {
        const theirs = atLoad.filter((row) => row.contender === other);
        if (theirs.length === 0) return [];
        const mean = ratio(own, theirs, ({ figures }) => figures.meanMs);
        const p99 = ratio(own, theirs, ({ figures }) => figures.p99Ms);
        return [`, of ${other} ${mean.toFixed(2)} (p99 ${p99.toFixed(2)})`];
      });
      return `load ${load.toFixed(2)}: ${contender}: mean ` +
        `${means.join(" ")} s${ratios.join("")}, queued at most ` +
        `${seconds(Math.max(...waits))} s, shed ${shed}`;
    })
  );
}

/** Geometric mean of a figure in relation to another's. */
function ratio(
  ours: readonly ExperimentRow[],
  theirs: readonly ExperimentRow[],
  figure: (row: ExperimentRow) => number,
): number {
  const logs = ours.flatMap((row) => {
    const other = theirs.find(({ seed }) => seed === row.seed);
    return other === undefined ? [] : [Math.log(figure(row) / figure(other))];
  });
  return Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}
