/**
 * Tests of the plot: what is drawn, whatever the rows are.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { experimentRow as row } from "../../tests/experiment_row.ts";
import { test } from "../../tests/leakproof.ts";
import { plotOf } from "./plot.ts";

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
