/**
 * `tryst simulate`: how scheduling policies would serve a workload, on
 * simulated engines and a virtual clock.
 *
 * Invariant: nothing is listened to, connected to or waited for, and nothing
 * written but the plot that was asked for. The queue waits as the gateway's
 * configuration has it by default, but for what flags say.
 *
 * @module
 */
import { Refusal } from "../config/complaint.ts";
import type { Config } from "../config/config.ts";
import { parseInteger, parseNumber } from "../config/number.ts";
import { complaintsText, parseConfig } from "../config/parse.ts";
import { contenderOf, CONTENDERS } from "../simulate/contenders.ts";
import { ENGINE_MODEL } from "../simulate/engines.ts";
import {
  type ExperimentOptions,
  type ExperimentRow,
  runExperiment,
} from "../simulate/experiment.ts";
import { PLOT_LOADS, plotOf } from "../simulate/plot.ts";
import { queueSettingsOf } from "../simulate/settings.ts";
import { shapesOf } from "../simulate/shapes.ts";
import { TABLE_LEGEND, tableLines } from "../simulate/table.ts";
import type { ParsedArgs } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { settingOf } from "./setting.ts";

/** Engines of one experiment: more only take longer. */
const ENGINES_MAX = 64;

/** Programs for each engine, which keep a run under a minute. */
const PROGRAMS_MAX = 2_000;

/** Beyond twice what engines can do, programs only pile up. */
const LOAD_MAX = 2;

const SEED_MAX = 2 ** 31 - 1;

const ENGINES_FLAG = flag("--engines", "N", "Simulated engines");
const WORKLOAD_FLAG = flag(
  "--workload",
  "NAME",
  "Shape of programs: sharegpt, bfcl, lats or mixed",
);
const LOAD_FLAG = flag(
  "--load",
  "SHARE",
  "Arrivals, in relation to what the engines can do at most",
);
const PROGRAMS_FLAG = flag("--programs", "N", "Programs for each engine");
const SEED_FLAG = flag("--seed", "N", "Seed of everything left to chance");
const POLICY_FLAG: Flag = {
  ...flag(
    "--policy",
    "NAME",
    "Contender to show, all unless given; repeatable",
  ),
  isList: true,
};
const SVG_FLAG = flag(
  "--svg",
  "FILE",
  "Write a plot of responses there; of several loads unless --load is given",
);
const JSON_FLAG: Flag = {
  ...flag("--json", "", "Print JSON, for programs"),
  value: undefined,
};

/** Calls that wait for less are not told apart from those that do not. */
const WAIT_MS = 1_000;

/** Flags that stand for a key of the configuration, by its section and key. */
const QUEUE_FLAGS: readonly (readonly [Flag, string, string])[] = [
  [
    flag("--overdue", "DURATION", "As queue.overdue of the configuration"),
    "queue",
    "overdue",
  ],
  [
    flag("--boost-ratio", "RATIO", "As queue.boost_ratio"),
    "queue",
    "boost_ratio",
  ],
  [flag("--timeout", "DURATION", "As timeouts.queue"), "timeouts", "queue"],
  [
    flag("--patience", "DURATION", "As routing.affinity_patience"),
    "routing",
    "affinity_patience",
  ],
];

/** The command. */
export const simulateCommand: Command = {
  name: "simulate",
  summary: "Compare scheduling policies on simulated engines",
  flags: [
    ENGINES_FLAG,
    WORKLOAD_FLAG,
    LOAD_FLAG,
    PROGRAMS_FLAG,
    POLICY_FLAG,
    SEED_FLAG,
    ...QUEUE_FLAGS.map(([flag]) => flag),
    SVG_FLAG,
    JSON_FLAG,
  ],
  async run(args, edge) {
    const options = optionsOf(args, edge);
    if (options === undefined) return EXIT.refused;
    const rows = [...runExperiment(options)];
    edge.out(args.values.has(JSON_FLAG.name) ? json(rows) : text(rows));
    const file = args.values.get(SVG_FLAG.name)?.[0];
    if (file === undefined) return EXIT.ok;
    try {
      await Deno.writeTextFile(file, plotOf(rows));
      return EXIT.ok;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      edge.err(`Cannot write "${file}": ${reason}`);
      return EXIT.failed;
    }
  },
};

/** What to run; `undefined` after complaints. */
function optionsOf(
  args: ParsedArgs,
  edge: Edge,
): ExperimentOptions | undefined {
  const given = { args, edge };
  const config = configOf(args, edge);
  const engineCount = settingOf(ENGINES_FLAG, given, {
    read: (text) => parseInteger(text, { min: 1, max: ENGINES_MAX }),
    initial: "1",
  });
  const workload = settingOf(WORKLOAD_FLAG, given, {
    read: (text) => known(() => (shapesOf(text), text)),
    initial: "mixed",
  });
  const load = settingOf(LOAD_FLAG, given, {
    read: (text) => parseNumber(text, { min: 0.01, max: LOAD_MAX }),
    initial: "0.9",
  });
  const programCount = settingOf(PROGRAMS_FLAG, given, {
    read: (text) => parseInteger(text, { min: 10, max: PROGRAMS_MAX }),
    initial: "200",
  });
  const seed = settingOf(SEED_FLAG, given, {
    read: (text) => parseInteger(text, { min: 1, max: SEED_MAX }),
    initial: "1",
  });
  const contenders = contendersOf(args, edge);
  if (
    config === undefined || engineCount === undefined ||
    workload === undefined || load === undefined ||
    programCount === undefined || seed === undefined || contenders === undefined
  ) return undefined;
  return {
    workload,
    engineCount,
    programCount,
    loads: loadsOf(args, load),
    contenders,
    model: ENGINE_MODEL,
    queue: queueSettingsOf(config, undefined),
    seed,
  };
}

/** A line needs several points. */
function loadsOf({ values }: ParsedArgs, load: number): readonly number[] {
  const isPlot = values.has(SVG_FLAG.name) && !values.has(LOAD_FLAG.name);
  return isPlot ? PLOT_LOADS : [load];
}

/** The configuration that the flags come to. */
function configOf(args: ParsedArgs, edge: Edge): Config | undefined {
  const sections: Record<string, Record<string, string>> = {};
  for (const [flag, section, key] of QUEUE_FLAGS) {
    const text = args.values.get(flag.name)?.[0];
    if (text !== undefined) (sections[section] ??= {})[key] = text;
  }
  const result = parseConfig(sections, { names: LOAD_NAMES });
  if (result.kind === "accepted") return result.config;
  edge.err(complaintsText(result.complaints));
  return undefined;
}

function contendersOf(args: ParsedArgs, edge: Edge) {
  const names = args.values.get(POLICY_FLAG.name);
  if (names === undefined) return CONTENDERS;
  try {
    return names.map(contenderOf);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    edge.err(error.message);
    return undefined;
  }
}

/** Has a name that is not known be told as any other wrong value. */
function known<T>(find: () => T): T {
  try {
    return find();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Refusal(`must be one that there is: ${error.message}`);
  }
}

function flag(name: string, value: string, doc: string): Flag {
  return { name, value, env: undefined, isList: false, doc };
}

function json(rows: readonly ExperimentRow[]): string {
  return JSON.stringify({ rows }, null, 2);
}

function text(rows: readonly ExperimentRow[]): string {
  const lines = [...tableLines(rows), ""];
  if (hadNoQueue(rows)) {
    lines.push(
      "No call waited in the queue for 1 s: raise --load or --programs.",
      "",
    );
  }
  return [...lines, ...TABLE_LEGEND].join("\n");
}

/** Whether policies had nothing to decide, and so are alike. */
function hadNoQueue(rows: readonly ExperimentRow[]): boolean {
  const queued = rows.filter(({ contender }) =>
    contenderOf(contender).waitsIn === "gateway"
  );
  return queued.length > 0 &&
    queued.every(({ figures }) => figures.longestQueuedMs < WAIT_MS);
}
