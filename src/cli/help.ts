/**
 * The texts of `--help`, and tables as commands print them.
 *
 * Invariant: every line of help comes from a table; help knows no command, flag or key
 * by name.
 *
 * @module
 */
import { configRows } from "../config/reference.ts";
import type { Command } from "./command.ts";
import { CONFIG_FLAG, type Flag } from "./flags.ts";

/** Blanks between the columns of a table. */
const GAP = "  ";

/** Help on the program: its commands. */
export function programHelp(commands: readonly Command[]): string {
  return [
    "Session-aware HTTP gateway for LLM inference servers",
    "",
    "Usage: tryst COMMAND [FLAGS]",
    "",
    "Commands:",
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    "",
    'Use "tryst COMMAND --help" for the flags of a command.',
  ].join("\n");
}

/** Help on a command: its flags and, where it reads one, its file's keys. */
export function commandHelp(command: Command): string {
  const { name, summary, flags, operand = [] } = command;
  const words = [name].concat(operand, usage(flags));
  const lines = [summary, "", `Usage: tryst ${words.join(" ")}`];
  if (flags.length > 0) lines.push("", "Flags:", ...columns(flagRows(flags)));
  if (flags.includes(CONFIG_FLAG)) {
    const rows = configRows().map((row) => [row.key, row.initial, row.doc]);
    lines.push("", "Keys of the configuration file, with defaults:");
    lines.push(...columns(rows));
    lines.push("", "A flag wins over its variable, and both over the file.");
  }
  return lines.join("\n");
}

function usage(flags: readonly Flag[]): string[] {
  return flags.map((flag) => `[${spelling(flag)}]${flag.isList ? "..." : ""}`);
}

function flagRows(flags: readonly Flag[]): string[][] {
  return flags.map((flag) => [spelling(flag), flag.env ?? "", flag.doc]);
}

function spelling({ name, value }: Flag): string {
  return value === undefined ? name : `${name} ${value}`;
}

/** Pads all cells but the last of each row to the width of their column. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0))
  );
  return rows.map((row) =>
    GAP +
    row.map((cell, at) =>
      at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)
    ).join(GAP)
  );
}
