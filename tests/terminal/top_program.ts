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

const code = await runCommandLine(Deno.args, {
  edge: processEdge(),
  commands: [topCommand],
});
if (Deno.stdin.isTerminal()) {
  // The runtime mends the line discipline at its end; this is before that.
  await new Deno.Command("sh", {
    args: ["-c", 'echo "left=$(stty -g)"'],
    stdin: "inherit",
    stdout: "inherit",
  }).output();
}
Deno.exit(code);
