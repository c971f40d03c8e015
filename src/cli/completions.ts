/**
 * `tryst completions`: prints a script that has a shell complete the commands
 * and flags of this version.
 *
 * Invariant: scripts are made from the register when they are printed, so they
 * offer what the program takes.
 *
 * @module
 */
import { nearestName } from "../config/nearest.ts";
import { type Command, EXIT } from "./command.ts";
import { bashCompletions } from "./completions_bash.ts";
import { fishCompletions } from "./completions_fish.ts";
import { zshCompletions } from "./completions_zsh.ts";

/** The shells, by the names of their programs. */
const SHELLS = new Map([
  ["bash", bashCompletions],
  ["zsh", zshCompletions],
  ["fish", fishCompletions],
]);

/** The command, for the commands that there are when it runs. */
export function completionsCommand(
  commands: () => readonly Command[],
): Command {
  const names = [...SHELLS.keys()];
  return {
    name: "completions",
    summary: "Print shell completions",
    operand: names.join("|"),
    flags: [],
    run({ operand }, edge) {
      const print = SHELLS.get(operand);
      if (print !== undefined) {
        edge.out(print(commands()));
        return Promise.resolve(EXIT.ok);
      }
      const nearest = nearestName(operand, names);
      const hint = nearest === undefined
        ? `known are ${names.join(", ")}`
        : `did you mean "${nearest}"?`;
      edge.err(`Cannot complete for shell "${operand}": ${hint}`);
      return Promise.resolve(EXIT.refused);
    },
  };
}
