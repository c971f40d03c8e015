/**
 * Completions for bash; needs nothing but bash 4.4 or later.
 *
 * Invariant: every word that is offered comes from the tables of commands and
 * flags.
 *
 * @module
 */
import { HELP_FLAGS } from "./args.ts";
import type { Command } from "./command.ts";
import { type Candidates, candidatesOf } from "./completion_values.ts";

/** How the shell finds candidates of a kind that start with `$cur`. */
const GENERATE: Readonly<Record<Exclude<Candidates["kind"], "words">, string>> =
  {
    files:
      'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")',
    folders:
      'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur")',
    none: ":",
  };

/** Prints the script. */
export function bashCompletions(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name);
  return [
    "# Completions of tryst for bash: source this file, or put it as tryst into",
    "# the folder bash-completion/completions of ~/.local/share.",
    "_tryst() {",
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}",
    "  COMPREPLY=()",
    "  # The shell takes --flag=value for three words.",
    '  if [[ $cur == "=" ]]; then',
    '    cur=""',
    '  elif [[ $prev == "=" ]]; then',
    "    prev=${COMP_WORDS[COMP_CWORD - 2]}",
    "  fi",
    "  if ((COMP_CWORD == 1)); then",
    `    ${generateWords([...names, ...HELP_FLAGS])}`,
    "    return",
    "  fi",
    "  case ${COMP_WORDS[1]}:$prev in",
    ...commands.flatMap(valueCases),
    "  esac",
    "  case ${COMP_WORDS[1]} in",
    ...commands.flatMap(wordCases),
    "  esac",
    "}",
    "complete -F _tryst tryst",
  ].join("\n");
}

/** What follows a flag that takes a value. */
function valueCases({ name, flags }: Command): string[] {
  return flags.flatMap((flag) =>
    flag.value === undefined ? [] : [
      `    ${name}:${flag.name}) ${
        generate(candidatesOf(flag.value))
      }; return ;;`,
    ]
  );
}

/** What else can follow a command. */
function wordCases({ name, flags, operand }: Command): string[] {
  const candidates = candidatesOf(operand);
  const words = [
    ...(candidates.kind === "words" ? candidates.words : []),
    ...flags.map((flag) => flag.name),
    ...HELP_FLAGS,
  ];
  return [`    ${name}) ${generateWords(words)} ;;`];
}

function generate(candidates: Candidates): string {
  return candidates.kind === "words"
    ? generateWords(candidates.words)
    : GENERATE[candidates.kind];
}

function generateWords(words: readonly string[]): string {
  return `mapfile -t COMPREPLY < <(compgen -W "${words.join(" ")}" -- "$cur")`;
}
