/**
 * Completions for zsh, by its own `_arguments`.
 *
 * Invariant: every word that is offered comes from the tables of commands and
 * flags, and no text of theirs can end the quotes around it.
 *
 * @module
 */
import { HELP_FLAGS } from "./args.ts";
import type { Command } from "./command.ts";
import { candidatesOf } from "./completion_values.ts";
import type { Flag } from "./flags.ts";

/** Prints the script. */
export function zshCompletions(commands: readonly Command[]): string {
  return [
    "#compdef tryst",
    "# Completions of tryst for zsh: put this as _tryst into a folder of fpath,",
    "# or run: source <(tryst completions zsh)",
    "_tryst() {",
    "  local curcontext=$curcontext state line",
    "  typeset -A opt_args",
    `  _arguments -C ${helpSpec()} '1:command:->command' '*::word:->word'`,
    "  case $state in",
    "    command)",
    "      local -a commands=(",
    ...commands.map(({ name, summary }) =>
      `        ${quoted(`${name}:${summary.replaceAll(":", "\\:")}`)}`
    ),
    "      )",
    "      _describe command commands",
    "      ;;",
    "    word)",
    "      case $words[1] in",
    ...commands.flatMap(commandCase),
    "      esac",
    "      ;;",
    "  esac",
    "}",
    'if [[ $funcstack[1] == _tryst ]]; then _tryst "$@"; else',
    "  compdef _tryst tryst",
    "fi",
  ].join("\n");
}

function commandCase({ name, flags, operand }: Command): string[] {
  const specs = [helpSpec(), ...flags.map(flagSpec)];
  if (operand !== undefined) specs.push(quoted(`1:${wanted(operand)}`));
  return [
    `        ${name})`,
    "          _arguments \\",
    specs.map((spec) => `            ${spec}`).join(" \\\n"),
    "          ;;",
  ];
}

function helpSpec(): string {
  return HELP_FLAGS.map((flag) =>
    quoted(`(${HELP_FLAGS.join(" ")})${flag}[Say what there is]`)
  ).join(" ");
}

function flagSpec({ name, value, doc, isList }: Flag): string {
  const text = doc.replace(/[[\]\\]/g, "\\$&");
  // A value of a short flag is a word of its own.
  const equals = name.startsWith("--") ? "=" : "";
  return quoted(
    value === undefined
      ? `${name}[${text}]`
      : `${isList ? "*" : ""}${name}${equals}[${text}]:${wanted(value)}`,
  );
}

/** A name to show, and how to find what there is. */
function wanted(name: string): string {
  const candidates = candidatesOf(name);
  const message = name.replaceAll(":", "\\:");
  switch (candidates.kind) {
    case "files":
      return `${message}:_files`;
    case "folders":
      return `${message}:_files -/`;
    case "words":
      return `${message}:(${candidates.words.join(" ")})`;
    case "none":
      return `${message}: `;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
