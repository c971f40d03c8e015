/**
 * `tryst version`: what is running, and on what.
 *
 * Invariant: the version stands in `deno.json` and nowhere else.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { type Command, EXIT } from "./command.ts";

/** The command. */
export const versionCommand: Command = {
  name: "version",
  summary: "Print the version",
  flags: [],
  run(_args, edge) {
    edge.out(`tryst ${project.version} (Deno ${edge.denoVersion})`);
    return Promise.resolve(EXIT.ok);
  },
};
