/**
 * Tests of the plot: what is drawn, whatever the rows are.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { ExperimentRow } from "./experiment.ts";
import { plotOf } from "./plot.ts";

function row(
  contender: string,
  load: number,
  meanMs: number,
): ExperimentRow {
  return {
    workload: "mixed",
    engineCount: 1,
    seed: 1,
    load,
    offered: 10 * load,
    contender,
    figures: {
      programs: 1,
      calls: 1,
      meanMs,
      p50Ms: meanMs / 2,
      p95Ms: meanMs,
      p99Ms: meanMs,
      slowdown: 1,
      fairness: 1,
      programsPerSecond: 1,
      cacheHits: 1,
      longestWaitMs: 0,
      longestQueuedMs: 0,
      spills: 0,
      shed: 0,
    },
  };
}

test("plotOf() draws a panel for each size and a line for each contender", () => {
  const rows = [0.7, 0.9].flatMap((load) => [
    row("fcfs", load, 40_000 * load),
    row("oracle", load, 20_000),
    { ...row("fcfs", load, 30_000), engineCount: 4 },
  ]);
  const svg = plotOf(rows);
  assertEquals(svg, plotOf(rows));
  assertEquals(svg.match(/<g /g)?.length, 2);
  assertEquals(svg.match(/>oracle</g)?.length, 1);
  assertEquals(svg.match(/>fcfs</g)?.length, 2);
  assert(svg.startsWith("<svg ") && svg.trimEnd().endsWith("</svg>"));
  assert(!/NaN|Infinity|undefined/.test(svg), svg);
  assert(!/NaN|Infinity/.test(plotOf([row("fcfs", 0.9, 32_000)])));
});
