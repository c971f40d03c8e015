/**
 * Tests of the experiment's own parts: the programs over HTTP, the summary and
 * the options.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { startEngine } from "../engine/engine.ts";
import { contenderOf } from "../../src/simulate/contenders.ts";
import { ENGINE_MODEL } from "../../src/simulate/engines.ts";
import type { ExperimentRow } from "../../src/simulate/experiment.ts";
import { drawPrograms } from "../../src/simulate/programs.ts";
import { Simulation } from "../../src/simulate/simulation.ts";
import { experimentRow as row } from "../../tests/experiment_row.ts";
import { test } from "../../tests/leakproof.ts";
import { queueDefaults } from "./defaults.ts";
import { playOverHttp } from "./http_player.ts";
import { overSeedsLines } from "./over_seeds.ts";
import { summaryLines } from "./summary.ts";

/** No call takes any time at this speed. */
const SPEED = 1e9;

test("playOverHttp() has the engine count the tokens of the plan", async () => {
  const programs = drawPrograms({
    workload: "mixed",
    programCount: 6,
    programsPerSecond: 1,
    seed: 4,
  });
  const simulated = new Simulation({
    programs,
    contender: contenderOf("sticky"),
    engineCount: 1,
    model: { ...ENGINE_MODEL, cacheBlocks: 1_000_000 },
    queue: queueDefaults(ENGINE_MODEL.batchMax),
    seed: 1,
  }).run();
  await using engine = await startEngine({
    ...ENGINE_MODEL,
    cacheBlocks: 1_000_000,
    speed: SPEED,
  });
  const played = await playOverHttp({
    programs,
    baseUrl: engine.url,
    speed: SPEED,
    hasSession: true,
    signal: AbortSignal.timeout(60_000),
  });
  assertEquals(played.calls, simulated.calls);
  assertEquals(played.responsesMs.length, programs.length);
  const hits = played.cachedTokens / played.promptTokens;
  // Marks of the HTTP engine between turns are some tokens of their own.
  assert(Math.abs(hits / simulated.cacheHits - 1) < 0.02, `${hits}`);
});

test("playOverHttp() rejects when an engine refuses", async () => {
  await using engine = await startEngine({ checksModel: true, speed: SPEED });
  const programs = drawPrograms({
    workload: "bfcl",
    programCount: 1,
    programsPerSecond: Infinity,
    seed: 1,
  });
  await assertRejects(
    () =>
      playOverHttp({
        programs,
        baseUrl: `${engine.url}/none`,
        speed: SPEED,
        hasSession: false,
        signal: AbortSignal.timeout(10_000),
      }),
    Error,
    "Cannot play program 0: the answer is 404",
  );
});

test("summaryLines() works out ratios and throughput at equal response", () => {
  const rows = [
    row("fcfs", 0.5, 10_000),
    row("critical_path", 0.5, 5_000),
    row("fcfs", 0.9, 30_000),
    row("critical_path", 0.9, 12_000),
  ];
  assertEquals(summaryLines(rows), [
    "load 0.50: critical_path / fcfs: mean 0.50 (want at most 0.7), p50 0.50, p99 0.50",
    "load 0.90: critical_path / fcfs: mean 0.40 (want at most 0.7), p50 0.40, p99 0.40",
    "at a mean response of 15.0 s: fcfs carries 6.000 programs/s",
    "at a mean response of 15.0 s: critical_path carries over 9.000 programs/s",
  ]);
});

test("overSeedsLines() compares seed by seed, and tells the worst wait", () => {
  const second = (one: ExperimentRow): ExperimentRow => ({
    ...one,
    seed: 2,
    figures: { ...one.figures, longestQueuedMs: 45_000, shed: 3 },
  });
  // In the second seed everything takes ten times as long.
  const rows = [
    row("fcfs", 0.9, 10_000),
    row("las", 0.9, 2_000),
    second(row("las", 0.9, 80_000)),
    second(row("fcfs", 0.9, 100_000)),
  ];
  assertEquals(overSeedsLines(rows), [
    "load 0.90: fcfs: mean 10.0 100.0 s, of fcfs 1.00 (p99 1.00), queued at most 45.0 s, shed 3",
    "load 0.90: las: mean 2.0 80.0 s, of fcfs 0.40 (p99 0.40), queued at most 45.0 s, shed 3",
  ]);
});

test("the program tells what it can, and refuses what it cannot, in a line", async () => {
  const table: [args: string[], code: number, out: RegExp, err: RegExp][] = [
    [["--help"], 0, /^Usage: .*--svg FILE/s, /^$/],
    [["--nosuch"], 2, /^$/, /^Cannot find option "--nosuch": known .*\n$/],
    [["--seeds", "x"], 2, /^$/, /^Cannot use "x" as --seeds: .*\n$/],
    [["--workload", "x"], 2, /^$/, /^Cannot find workload "x": .*\n$/],
  ];
  const program = new URL("main.ts", import.meta.url).pathname;
  for (const [args, code, out, err] of table) {
    const result = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", program, ...args],
      env: { NO_COLOR: "1" },
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assertEquals(result.code, code, args.join(" "));
    assertMatch(text(result.stdout), out);
    assertMatch(text(result.stderr), err);
  }
});
