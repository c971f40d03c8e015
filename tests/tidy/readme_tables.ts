/**
 * The tables of the README, made from the tables of the code.
 *
 * A table stands between `<!-- table: NAME -->` and `<!-- end -->`. Run as a
 * program, this rewrites the README; the test only compares.
 *
 * Invariant: a name, a default or a message is written once, in the code.
 *
 * @module
 */
import { ERROR_TABLE, type ErrorRow } from "../../src/core/error.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { CONFIG_FLAGS } from "../../src/cli/flags.ts";
import { configRows } from "../../src/config/reference.ts";
import * as policies from "../../src/policies/mod.ts";
import * as scheduling from "../../src/scheduling/mod.ts";
import { DEFAULT_SESSION_KEYS } from "../../src/session_keys/defaults.ts";
import * as filters from "../../src/session_keys/filters.ts";
import * as sources from "../../src/session_keys/mod.ts";
import { madeUpMetrics } from "../admin/metric_families.ts";
import { FILE_RULES } from "./file_rules.ts";

/** A table: its head, then its rows. */
type Table = readonly (readonly string[])[];

/** The tables by name. */
export const TABLES: Readonly<Record<string, () => Table>> = {
  commands: () => [
    ["Command", "What it does"],
    ...COMMANDS.map(({ name, summary }) => [code(`tryst ${name}`), summary]),
  ],
  flags: () => [
    ["Flag", "Variable", "Key", "What it is"],
    ...CONFIG_FLAGS.map(({ name, value, env, path, doc }) => [
      code(`${name} ${value}`),
      code(env),
      path === undefined ? "" : code(path),
      doc,
    ]),
  ],
  config: () => [
    ["Key", "Default", "What it is"],
    ...configRows().map(({ key, initial, doc }) => [
      code(key),
      code(initial),
      doc,
    ]),
  ],
  policies: () => named("Policy", Object.values(policies)),
  scheduling: () => named("Policy", Object.values(scheduling)),
  "session_keys": () => named("Kind", Object.values(sources)),
  "session_key_filters": () => named("Filter", Object.values(filters)),
  "default_session_keys": () => [
    ["Rank", "Source"],
    ...DEFAULT_SESSION_KEYS.map((source, at) => [`${at + 1}`, code(source)]),
  ],
  errors: () => [
    ["Code", "Status", "Type", "Fault", "Retry-After", "Message"],
    ...Object.entries<ErrorRow>(ERROR_TABLE).map(([name, row]) => [
      code(name),
      `${row.status}`,
      code(row.type),
      row.fault,
      row.retryAfterS === undefined ? "" : `${row.retryAfterS} s`,
      row.message,
    ]),
  ],
  metrics:
    () => [["Metric", "Type", "Labels", "What it says"], ...metricRows()],
  rules: () => [["Rule"], ...FILE_RULES.map(({ name }) => [name])],
};

/** `text` with every marked table made anew. */
export function withTables(text: string): string {
  return text.replace(
    /(<!-- table: (\w+) -->\n)[^]*?(<!-- end -->)/g,
    (_, open: string, name: string, close: string) => {
      const table = TABLES[name];
      if (table === undefined) {
        throw new Error(
          `Cannot make table "${name}": known are ${
            Object.keys(TABLES).join(", ")
          }`,
        );
      }
      return `${open}\n${markdown(table())}\n\n${close}`;
    },
  );
}

/** Every family of the metrics page, without values. */
function metricRows(): Table {
  const { registry } = madeUpMetrics({ endpointCount: 0, workerCount: 1 });
  return registry.getMetricsAsArray().map((metric) => [
    code(metric.name),
    String(metric.type),
    labelsOf(metric).map(code).join(", "),
    metric.help,
  ]);
}

/** Names of a family's labels, which its declared type does not tell. */
function labelsOf(metric: object): string[] {
  return "labelNames" in metric && Array.isArray(metric.labelNames)
    ? metric.labelNames.map(String)
    : [];
}

function named(
  title: string,
  plugins: readonly { readonly name: string; readonly summary: string }[],
): Table {
  const rows = plugins.map(({ name, summary }) => [code(name), summary]);
  return [[title, "What it does"], ...rows.sort()];
}

function code(text: string): string {
  return `\`${text}\``;
}

/** A table with padded columns, as `deno fmt` leaves it. */
function markdown(table: Table): string {
  const cells = table.map((row) =>
    row.map((cell) => cell.replaceAll("|", "\\|"))
  );
  const widths = (cells[0] ?? []).map((_, at) =>
    Math.max(3, ...cells.map((row) => row[at]?.length ?? 0))
  );
  const lines = cells.map((row) => line(row, widths));
  const rule = line(widths.map((width) => "-".repeat(width)), widths);
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join("\n");
}

function line(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, at) => cell.padEnd(widths[at] ?? 0));
  return `| ${padded.join(" | ")} |`;
}

if (import.meta.main) {
  const readme = new URL("../../README.md", import.meta.url);
  await Deno.writeTextFile(readme, withTables(await Deno.readTextFile(readme)));
}
