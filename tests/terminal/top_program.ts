/**
 * `tryst top` and nothing else, as a program of its own.
 *
 * Invariant: it is the command of the program, run as the program runs it.
 *
 * @module
 */
import { runCommandLine } from "../../src/cli/command_line.ts";
import { processEdge } from "../../src/cli/edge.ts";
import { topCommand } from "../../src/cli/top.ts";

Deno.exit(
  await runCommandLine(Deno.args, {
    edge: processEdge(),
    commands: [topCommand],
  }),
);
