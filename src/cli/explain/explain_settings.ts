/**
 * What a configuration says that the defaults do not, and where it says so.
 *
 * Invariant: it compares configurations, so a key that was given its default
 * is not listed, and no value of a header is shown.
 *
 * @module
 */
import type { Config } from "../../config/config.ts";
import { diffConfigs } from "../../config/diff.ts";
import { parseConfig } from "../../config/parse.ts";
import type { ParsedArgs } from "../args.ts";
import type { Edge } from "../edge.ts";
import { CONFIG_FLAGS } from "../flags.ts";
import { columns } from "../help.ts";
import { LOAD_NAMES } from "../load_names.ts";

/** Lines on each value that is no default; empty when all are. */
export function settingLines(
  config: Config,
  args: ParsedArgs,
  edge: Edge,
): string[] {
  const defaults = parseConfig(undefined, { names: LOAD_NAMES });
  if (defaults.kind === "refused") return [];
  const changes = diffConfigs(defaults.config, config);
  if (changes.length === 0) return [];
  return [
    "Set in place of defaults:",
    ...columns(
      changes.map(({ from, path, to }) => [
        path,
        to,
        `${originOf(path, args, edge)}, default ${from}`,
      ]),
    ),
  ];
}

/** By what a value was given: a flag before a variable before the file. */
function originOf(path: string, args: ParsedArgs, edge: Edge): string {
  const flag = CONFIG_FLAGS.find((flag) =>
    flag.path === path || path.startsWith(`${flag.path}[`)
  );
  if (flag !== undefined) {
    if (args.values.has(flag.name)) return `from ${flag.name}`;
    if ((edge.env(flag.env) ?? "").trim() !== "") return `from ${flag.env}`;
  }
  return "from the file";
}
