/**
 * Brings flags, environment and file together into one configuration.
 *
 * Invariant: all complaints come at once, each under the name by which its
 * value was given; nothing starts on a configuration that has one.
 *
 * @module
 */
import { parse as parseYaml } from "@std/yaml/parse";
import type { Config, ConfigNames } from "../config/config.ts";
import { complaintsText, type Override, parseConfig } from "../config/parse.ts";
import { configWarnings } from "../config/warnings.ts";
import { adminListenComplaint } from "./admin_token.ts";
import type { ParsedArgs } from "./args.ts";
import type { Edge } from "./edge.ts";
import { CONFIG_FLAG, CONFIG_FLAGS, type ConfigFlag } from "./flags.ts";

/** Largest configuration file; thousands of endpoints are far smaller. */
const FILE_BYTES_MAX = 2 ** 20;

/** What loading must know of the registers. */
export interface LoadNames extends ConfigNames {
  /** Whether a session-key source, as text, is new on every request. */
  readonly isPerRequest: (source: string) => boolean;
}

/** The configuration file of a command, if it has one. */
export function configPath(args: ParsedArgs, edge: Edge): string | undefined {
  return args.values.get(CONFIG_FLAG.name)?.[0] ?? variable(CONFIG_FLAG, edge);
}

/**
 * Loads the configuration of a command.
 *
 * @returns `undefined` after complaints have been written to standard error;
 * warnings are written there too.
 */
export async function loadConfig(
  args: ParsedArgs,
  { edge, isReload = false, names }: {
    readonly edge: Edge;
    readonly names: LoadNames;
    /**
     * Whether a gateway runs with a former one. A file without anything in it
     * is then one that is about to be written, or that found no room on a disk.
     */
    readonly isReload?: boolean;
  },
): Promise<Config | undefined> {
  const path = configPath(args, edge);
  let document: unknown;
  if (path !== undefined) {
    try {
      document = await readDocument(path, edge);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      edge.err(
        `Cannot read configuration file "${path}": ${firstLine(reason)}`,
      );
      return undefined;
    }
    if (isReload && (document ?? undefined) === undefined) {
      edge.err(
        `Cannot take configuration file "${path}" while the gateway runs as` +
          " nothing is in it: a restart takes it",
      );
      return undefined;
    }
  }
  const result = parseConfig(document, {
    names,
    overrides: overridesOf(args, edge),
  });
  if (result.kind === "refused") {
    edge.err(complaintsText(result.complaints));
    return undefined;
  }
  const complaint = adminListenComplaint(result.config.admin, edge);
  if (complaint !== undefined) {
    edge.err(complaint);
    return undefined;
  }
  for (const warning of configWarnings(result.config, names.isPerRequest)) {
    edge.err(`Warning: ${warning}`);
  }
  return result.config;
}

async function readDocument(path: string, edge: Edge): Promise<unknown> {
  const text = await edge.readTextFile(path, FILE_BYTES_MAX);
  // The core schema: dates and binaries of the default one mean nothing here.
  return parseYaml(text, { schema: "core" });
}

/** Variables first: of two overrides for one key the later one wins. */
function overridesOf(args: ParsedArgs, edge: Edge): Override[] {
  const overrides: Override[] = [];
  for (const { path, ...flag } of CONFIG_FLAGS) {
    if (path === undefined) continue;
    const text = variable(flag, edge);
    if (text !== undefined) {
      const value = flag.isList ? splitList(text) : text;
      overrides.push({ path, origin: flag.env, value });
    }
    const given = args.values.get(flag.name);
    if (given?.[0] !== undefined) {
      const value = flag.isList ? given : given[0];
      overrides.push({ path, origin: flag.name, value });
    }
  }
  return overrides;
}

/** A variable that is set but empty counts as not set. */
function variable(
  { env }: Pick<ConfigFlag, "env">,
  edge: Edge,
): string | undefined {
  const text = edge.env(env)?.trim();
  return text === "" ? undefined : text;
}

function splitList(text: string): string[] {
  return text.split(",").map((item) => item.trim()).filter((item) =>
    item !== ""
  );
}

function firstLine(text: string): string {
  // What follows, a picture of the place, is announced by a colon.
  return (text.split("\n", 1)[0] ?? "").replace(/:$/, "");
}
