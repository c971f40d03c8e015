/**
 * The program: arguments in, exit code out.
 *
 * Invariant: this is the only file that ends the process.
 *
 * @module
 */
import { runCommandLine } from "./src/cli/command_line.ts";
import { COMMANDS } from "./src/cli/commands.ts";
import { processEdge } from "./src/cli/edge.ts";

Deno.exit(
  await runCommandLine(Deno.args, {
    edge: processEdge(),
    commands: COMMANDS,
  }),
);
