/**
 * `tryst check`: says whether a configuration would be accepted, and what it
 * comes to; for a request, what the gateway would make of it.
 *
 * A request is explained from the configuration alone, also where the files of
 * secrets are not at hand.
 *
 * Invariant: without a request it accepts exactly what `tryst serve` accepts,
 * through the same code, and touches nothing but the files that it is given
 * and that these name. Exit code 1 means that the gateway would refuse the
 * request by itself.
 *
 * @module
 */
import { type Command, EXIT } from "./command.ts";
import { explainRequest } from "./explain/explain.ts";
import {
  type ExplainedRequest,
  readRequest,
  REQUEST_FLAGS,
} from "./explain/explain_request.ts";
import { settingLines } from "./explain/explain_settings.ts";
import { CONFIG_FLAGS, type Flag } from "./flags.ts";
import { loadConfig } from "./load_config.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { readNamedFiles } from "./named_files.ts";
import { summaryLines } from "./summary.ts";

const TENANT_FLAG: Flag = {
  name: "--tenant",
  value: "NAME",
  env: undefined,
  isList: false,
  doc: "Whose request it is, where clients need an API key",
};

/** The command. */
export const checkCommand: Command = {
  name: "check",
  summary: "Check a configuration, or explain what becomes of a request",
  flags: [...CONFIG_FLAGS, ...REQUEST_FLAGS, TENANT_FLAG],
  async run(args, edge) {
    const config = await loadConfig(args, { edge, names: LOAD_NAMES });
    if (config === undefined) return EXIT.refused;
    let request: ExplainedRequest | undefined;
    try {
      request = await readRequest(args);
    } catch (error) {
      edge.err(error instanceof Error ? error.message : String(error));
      return EXIT.refused;
    }
    if (request === undefined) {
      try {
        await readNamedFiles(config, edge);
      } catch (error) {
        edge.err(error instanceof Error ? error.message : String(error));
        return EXIT.refused;
      }
      const settings = settingLines(config, args, edge);
      edge.out(["OK", ...summaryLines(config), ...settings].join("\n"));
      return EXIT.ok;
    }
    const { isRefused, lines } = await explainRequest(request, {
      config,
      tenant: args.values.get(TENANT_FLAG.name)?.[0],
      random: Math.random,
    });
    edge.out(lines.join("\n"));
    return isRefused ? EXIT.failed : EXIT.ok;
  },
};
