/**
 * `tryst man`: prints the manual page of this version, for man(1).
 *
 * Invariant: the page is made from the tables of the program when it is
 * printed, so it says what the program does.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { type Command, EXIT } from "./command.ts";
import { manPage } from "./man_page.ts";

/** The command, for the commands that there are when it runs. */
export function manCommand(commands: () => readonly Command[]): Command {
  return {
    name: "man",
    summary: "Print the manual page",
    flags: [],
    run(_args, edge) {
      edge.out(manPage(commands(), project.version));
      return Promise.resolve(EXIT.ok);
    },
  };
}
