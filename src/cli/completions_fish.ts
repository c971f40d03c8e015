/**
 * Completions for fish.
 *
 * Invariant: every word that is offered comes from the tables of commands and
 * flags, and no text of theirs can end the quotes around it.
 *
 * @module
 */
import type { Command } from "./command.ts";
import { type Candidates, candidatesOf } from "./completion_values.ts";
import type { Flag } from "./flags.ts";

/** Prints the script. */
export function fishCompletions(commands: readonly Command[]): string {
  return [
    "# Completions of tryst for fish: put this as tryst.fish into the folder",
    "# fish/completions of ~/.config.",
    "complete -c tryst -f",
    "complete -c tryst -s h -l help -d 'Say what there is'",
    ...commands.map(({ name, summary }) =>
      `complete -c tryst -n __fish_use_subcommand -a ${name} -d ${
        quoted(summary)
      }`
    ),
    ...commands.flatMap((command) =>
      command.flags.map((flag) => flagLine(command, flag))
    ),
    ...commands.flatMap(operandLine),
  ].join("\n");
}

function flagLine(command: Command, { name, value, doc }: Flag): string {
  const option = name.startsWith("--")
    ? `-l ${name.slice(2)}`
    : `-s ${name.slice(1)}`;
  const argument = value === undefined
    ? ""
    : ` ${argumentOf(candidatesOf(value))}`;
  return `${start(command)} ${option}${argument} -d ${quoted(doc)}`;
}

function operandLine(command: Command): string[] {
  const candidates = candidatesOf(command.operand);
  return candidates.kind === "words"
    ? [`${start(command)} -a ${quoted(candidates.words.join(" "))}`]
    : [];
}

function start({ name }: Command): string {
  return `complete -c tryst -n '__fish_seen_subcommand_from ${name}'`;
}

function argumentOf(candidates: Candidates): string {
  switch (candidates.kind) {
    case "files":
      return "-r -F";
    case "folders":
      return "-x -a '(__fish_complete_directories)'";
    case "words":
      return `-x -a ${quoted(candidates.words.join(" "))}`;
    case "none":
      return "-x";
  }
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
