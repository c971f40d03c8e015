/**
 * The scheduling experiment: contenders, engines and loads on a virtual clock.
 *
 * Run with `deno run -A bench/scheduling/main.ts`; `--help` says what else it
 * takes.
 *
 * Limits of engines are learned, as by default, unless `--limit` is given.
 * Without an option it measures the mixed workload on 1, 4 and 16 engines and
 * the single shapes on 4, which takes some minutes. `--validate` holds the
 * model against the simulated HTTP engine, `--sockets` plays programs through
 * a real gateway; both take about a minute and want a quiet machine.
 *
 * Invariant: nothing is printed that was not measured in this run, and each
 * figure stands beside what is wanted of it.
 *
 * @module
 */
import { numberOption, option, say } from "../../tests/run_options.ts";
import { CONTENDERS } from "../../src/simulate/contenders.ts";
import { ENGINE_MODEL } from "../../src/simulate/engines.ts";
import {
  type ExperimentRow,
  runExperiment,
} from "../../src/simulate/experiment.ts";
import { PLOT_LOADS, plotOf } from "../../src/simulate/plot.ts";
import { shapesOf } from "../../src/simulate/shapes.ts";
import { TABLE_LEGEND, tableLines } from "../../src/simulate/table.ts";
import { queueDefaults } from "./defaults.ts";
import { overSeedsLines } from "./over_seeds.ts";
import { measureSockets } from "./sockets.ts";
import { summaryLines } from "./summary.ts";
import { validate } from "./validate.ts";

/** What is measured when nothing else is asked for: workload and engines. */
const FULL = [
  ["mixed", 1],
  ["mixed", 4],
  ["mixed", 16],
  ["sharegpt", 4],
  ["bfcl", 4],
  ["lats", 4],
] as const;

const QUICK = [["mixed", 1]] as const;

/** Programs an engine; a run of 16 engines then makes some 200,000 calls. */
const PROGRAMS = 200;
const QUICK_PROGRAMS = 200;

/** Tokens of a block of the engine's cache. */
const BLOCK_TOKENS = 16;

/** Times are divided by this, so that a run of minutes takes some seconds. */
const SPEED = 10;

/** Programs of a run in real time. */
const REAL_PROGRAMS = 40;

/** Validation: the most that the model may be off. */
const ERROR_MAX = 0.1;

/** Options that take a whole number, and what it is. */
const NUMBERS = {
  "--engines": "N",
  "--programs": "N",
  "--seed": "N",
  "--seeds": "N",
  "--cache": "TOKENS",
  "--overdue": "MS",
  "--timeout": "MS",
  "--patience": "MS",
  "--boost": "RATIO",
  "--limit": "N",
} as const;

/** The others, and what follows them. */
const WORDS = {
  "--quick": "",
  "--workload": "NAME",
  "--json": "",
  "--svg": "FILE",
  "--validate": "",
  "--sockets": "",
  "--help": "",
} as const;

/** Options of which the program knows nothing, or not that value. */
const EXIT_REFUSED = 2;

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  if (args.includes("--help")) return say(usage());
  const wrong = whatIsWrong(args);
  if (wrong !== undefined) {
    Deno.stderr.writeSync(new TextEncoder().encode(`${wrong}\n`));
    Deno.exitCode = EXIT_REFUSED;
    return;
  }
  if (args.includes("--validate")) return await printValidation(args);
  if (args.includes("--sockets")) return await printSockets(args);
  const rows: ExperimentRow[] = [];
  for (const [workload, engineCount] of planOf(args)) {
    const own = measure(args, workload, engineCount);
    if (!args.includes("--json")) print(own);
    rows.push(...own);
  }
  const settings = { model: modelOf(args), queue: queueOf(args) };
  if (args.includes("--json")) {
    say(JSON.stringify({ settings, rows }, null, 2));
  } else TABLE_LEGEND.forEach(say);
  const file = option(args, "--svg");
  if (file !== undefined) await Deno.writeTextFile(file, plotOf(rows));
}

function usage(): string {
  const options = Object.entries({ ...WORDS, ...NUMBERS })
    .map(([name, value]) => `  ${`${name} ${value}`.trim()}`);
  return [
    "Usage: deno run -A bench/scheduling/main.ts [OPTION]...",
    "",
    ...options,
  ].join("\n");
}

/** Why the options cannot be used, in a line; `undefined` when they can. */
function whatIsWrong(args: readonly string[]): string | undefined {
  const names = Object.keys({ ...WORDS, ...NUMBERS });
  const unknown = args.find((arg) =>
    arg.startsWith("--") && !names.includes(arg)
  );
  if (unknown !== undefined) {
    return `Cannot find option "${unknown}": known are ${names.join(", ")}`;
  }
  try {
    for (const name of Object.keys(NUMBERS)) numberOption(args, name);
    shapesOf(option(args, "--workload") ?? "mixed");
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return error.message;
  }
}

function planOf(
  args: readonly string[],
): readonly (readonly [string, number])[] {
  const plan = args.includes("--quick") ? QUICK : FULL;
  const workload = option(args, "--workload");
  const engines = numberOption(args, "--engines");
  if (workload === undefined && engines === undefined) return plan;
  return [[workload ?? "mixed", engines ?? 1]];
}

/** Rows over all seeds. */
function measure(
  args: readonly string[],
  workload: string,
  engineCount: number,
): ExperimentRow[] {
  const isQuick = args.includes("--quick");
  const first = numberOption(args, "--seed") ?? 1;
  const seeds = numberOption(args, "--seeds") ?? 1;
  const rows: ExperimentRow[] = [];
  for (let seed = first; seed < first + seeds; seed++) {
    const experiment = runExperiment({
      workload,
      engineCount,
      seed,
      programCount: numberOption(args, "--programs") ??
        (isQuick ? QUICK_PROGRAMS : PROGRAMS),
      loads: isQuick ? [0.9] : PLOT_LOADS,
      contenders: CONTENDERS,
      model: modelOf(args),
      queue: queueOf(args),
    });
    rows.push(...experiment);
  }
  return rows;
}

function modelOf(args: readonly string[]) {
  const cacheTokens = numberOption(args, "--cache") ??
    ENGINE_MODEL.cacheBlocks * BLOCK_TOKENS;
  return {
    ...ENGINE_MODEL,
    cacheBlocks: Math.floor(cacheTokens / BLOCK_TOKENS),
  };
}

function queueOf(args: readonly string[]) {
  const defaults = queueDefaults(numberOption(args, "--limit"));
  return {
    ...defaults,
    overdueMs: numberOption(args, "--overdue") ?? defaults.overdueMs,
    timeoutMs: numberOption(args, "--timeout") ?? defaults.timeoutMs,
    patienceMs: numberOption(args, "--patience") ?? defaults.patienceMs,
    boostRatio: numberOption(args, "--boost") ?? defaults.boostRatio,
  };
}

function print(rows: readonly ExperimentRow[]): void {
  tableLines(rows).forEach(say);
  say("");
  const seeds = new Set(rows.map((row) => row.seed));
  if (seeds.size > 1) {
    overSeedsLines(rows).forEach(say);
    say("");
  }
  for (const seed of seeds) {
    say(`seed ${seed}`);
    const lines = summaryLines(rows.filter((row) => row.seed === seed));
    lines.forEach((line) => say(`  ${line}`));
  }
  say("");
}

async function printValidation(args: readonly string[]): Promise<void> {
  const comparisons = await validate({
    workload: option(args, "--workload") ?? "bfcl",
    programCount: numberOption(args, "--programs") ?? REAL_PROGRAMS,
    seed: numberOption(args, "--seed") ?? 1,
    speed: SPEED,
  });
  for (const { measured, name, simulated } of comparisons) {
    const error = measured / simulated - 1;
    if (Math.abs(error) > ERROR_MAX) Deno.exitCode = 1;
    say(
      `${name}: simulated ${simulated.toPrecision(4)}, measured ` +
        `${measured.toPrecision(4)}, off by ${(100 * error).toFixed(1)} % ` +
        `(want at most ${100 * ERROR_MAX} %)`,
    );
  }
}

async function printSockets(args: readonly string[]): Promise<void> {
  const rows = await measureSockets({
    workload: option(args, "--workload") ?? "mixed",
    programCount: numberOption(args, "--programs") ?? REAL_PROGRAMS,
    seed: numberOption(args, "--seed") ?? 1,
    speed: SPEED,
  });
  for (const { cacheHits, contender, meanMs, p50Ms } of rows) {
    say(
      `${contender}: mean ${(meanMs / 1_000).toFixed(1)} s, p50 ` +
        `${(p50Ms / 1_000).toFixed(1)} s, cache hits ` +
        `${(100 * cacheHits).toFixed(1)} %`,
    );
  }
}
