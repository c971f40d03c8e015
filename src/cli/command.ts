/**
 * What a command of the command line is.
 *
 * Invariant: a command answers with an exit code and never ends the process
 * itself; only `main.ts` does.
 *
 * @module
 */
import type { ParsedArgs } from "./args.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";

/** What the process ends with. */
export const EXIT = {
  ok: 0,
  /** Something failed that worked when it was checked. */
  failed: 1,
  /** The command line, the environment or the file is wrong. */
  refused: 2,
} as const;

/** One row of the register in `commands.ts`. */
export interface Command {
  readonly name: string;
  /** One line for help and the README. */
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** What comes first, in capitals, for commands that want it; one word. */
  readonly operand?: string;
  /** Does the work; `args` has no problems and wants no help. */
  run(args: ParsedArgs, edge: Edge): Promise<number>;
}
