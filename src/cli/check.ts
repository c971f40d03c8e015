/**
 * `tryst check`: says whether a configuration would be accepted, and what it
 * comes to.
 *
 * Invariant: it accepts exactly what `tryst serve` accepts, through the same
 * code, and touches nothing but the file.
 *
 * @module
 */
import { type Command, EXIT } from "./command.ts";
import { CONFIG_FLAGS } from "./flags.ts";
import { loadConfig } from "./load_config.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { summaryLines } from "./summary.ts";

/** The command. */
export const checkCommand: Command = {
  name: "check",
  summary: "Check a configuration and print what it comes to",
  flags: CONFIG_FLAGS,
  async run(args, edge) {
    const config = await loadConfig(args, { edge, names: LOAD_NAMES });
    if (config === undefined) return EXIT.refused;
    edge.out(["OK", ...summaryLines(config)].join("\n"));
    return EXIT.ok;
  },
};
