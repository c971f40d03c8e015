/**
 * Parses the arguments that follow a command's name.
 *
 * Invariant: everything that is wrong is told at once, and an argument is
 * never ignored.
 *
 * @module
 */
import { nearestName } from "../config/nearest.ts";
import type { Flag } from "./flags.ts";

/** The arguments as values of flags. */
export interface ParsedArgs {
  readonly wantsHelp: boolean;
  /** The word that is no flag; empty when the command wants none. */
  readonly operand: string;
  /** Values by flag name, in the order in which they came. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** One sentence for each thing that is wrong. */
  readonly problems: readonly string[];
}

/** Spellings of a wish for help. */
export const HELP_FLAGS: readonly string[] = ["--help", "-h"];

/**
 * Parses `--name value` and `--name=value` of the flags given, `--name` of
 * switches, and the operand if there is one.
 */
export function parseArgs(
  argv: readonly string[],
  flags: readonly Flag[],
  operandName?: string,
): ParsedArgs {
  const values = new Map<string, string[]>();
  const problems: string[] = [];
  let operand = "";
  let wantsHelp = false;
  for (let at = 0; at < argv.length; at++) {
    const arg = argv[at] ?? "";
    if (HELP_FLAGS.includes(arg)) {
      wantsHelp = true;
      continue;
    }
    const [name = "", inline] = splitAtEquals(arg);
    if (operandName !== undefined && operand === "" && !isFlag(arg)) {
      operand = arg;
      continue;
    }
    const flag = flags.find((flag) => flag.name === name);
    if (flag === undefined) {
      problems.push(unknownArgument(name, flags));
      // What follows an unknown flag is most likely its value.
      if (inline === undefined && !isFlag(argv[at + 1])) at++;
      continue;
    }
    if (flag.value === undefined) {
      if (inline !== undefined) {
        problems.push(`Cannot use "${name}" with a value: it takes none`);
      }
      values.set(name, []);
      continue;
    }
    const value = inline ?? (isFlag(argv[at + 1]) ? undefined : argv[++at]);
    if (value === undefined || value === "") {
      problems.push(`Cannot use "${name}" without a value: want ${flag.value}`);
      continue;
    }
    const given = values.get(name) ?? [];
    if (given.length > 0 && !flag.isList) {
      problems.push(`Cannot use "${name}" twice: "${given[0]}" and "${value}"`);
    }
    values.set(name, [...given, value]);
  }
  if (operandName !== undefined && operand === "") {
    problems.push(
      `Cannot go on without ${operandName}: it comes after the command`,
    );
  }
  return { wantsHelp, operand, values, problems };
}

function splitAtEquals(arg: string): [string, string?] {
  const at = arg.startsWith("--") ? arg.indexOf("=") : -1;
  return at < 0 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)];
}

/** A dash alone stands for standard input, as it does elsewhere. */
function isFlag(arg: string | undefined): boolean {
  return arg === undefined || (arg.startsWith("-") && arg !== "-");
}

function unknownArgument(arg: string, flags: readonly Flag[]): string {
  if (!arg.startsWith("-")) {
    return `Cannot use argument "${arg}": it follows no flag that takes it`;
  }
  const names = [...flags.map((flag) => flag.name), ...HELP_FLAGS.slice(0, 1)];
  const nearest = nearestName(arg, names);
  const hint = nearest === undefined
    ? `known are ${names.join(", ")}`
    : `did you mean "${nearest}"?`;
  return `Cannot find flag "${arg}": ${hint}`;
}
