/**
 * The command line: from arguments to an exit code.
 *
 * Invariant: whatever is wrong with the arguments ends in exit code 2 with the
 * nearest known name, and whatever a command throws in exit code 1 with its
 * message.
 *
 * @module
 */
import { nearestName } from "../config/nearest.ts";
import { HELP_FLAGS, parseArgs } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import { denoVersionProblem } from "./deno_version.ts";
import type { Edge } from "./edge.ts";
import { commandHelp, programHelp } from "./help.ts";

/** Runs the command that `argv` names; resolves to the exit code. */
export async function runCommandLine(
  argv: readonly string[],
  { edge, commands }: {
    readonly edge: Edge;
    readonly commands: readonly Command[];
  },
): Promise<number> {
  const problem = denoVersionProblem(edge.denoVersion);
  if (problem !== undefined) return refuse(problem, edge);
  const [name, ...rest] = argv;
  if (name === undefined) return refuse(programHelp(commands), edge);
  if (HELP_FLAGS.includes(name)) {
    edge.out(programHelp(commands));
    return EXIT.ok;
  }
  const command = commands.find((command) => command.name === name);
  if (command === undefined) return refuse(unknown(name, commands), edge);
  const args = parseArgs(rest, command.flags, command.operand);
  if (args.wantsHelp) {
    edge.out(commandHelp(command));
    return EXIT.ok;
  }
  if (args.problems.length > 0) {
    return refuse(args.problems.join("\n"), edge);
  }
  try {
    return await command.run(args, edge);
  } catch (error) {
    edge.err(
      `Cannot go on with "${name}": ${
        error instanceof Error ? error.stack ?? error.message : String(error)
      }`,
    );
    return EXIT.failed;
  }
}

function refuse(text: string, edge: Edge): number {
  edge.err(text);
  return EXIT.refused;
}

function unknown(name: string, commands: readonly Command[]): string {
  const names = commands.map((command) => command.name);
  const nearest = nearestName(name, names);
  const hint = nearest === undefined
    ? `known are ${names.join(", ")}`
    : `did you mean "${nearest}"?`;
  return `Cannot find command "${name}": ${hint}`;
}
