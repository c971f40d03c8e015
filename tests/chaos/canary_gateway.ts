/**
 * The gateway with a bug, named by the variable `CANARY`, planted into each of
 * its workers: what the chaos is for has to be found by it.
 *
 * @module
 */
import { parseArgs } from "../../src/cli/args.ts";
import { processEdge } from "../../src/cli/edge.ts";
import { CONFIG_FLAGS } from "../../src/cli/flags.ts";
import { loadConfig } from "../../src/cli/load_config.ts";
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import { serve } from "../../src/cli/serve.ts";
import { WORKER_SILENT_MS } from "../../src/server/supervisor.ts";

async function run(): Promise<number> {
  const edge = processEdge();
  const args = parseArgs(Deno.args.slice(1), CONFIG_FLAGS);
  const config = await loadConfig(args, { edge, names: LOAD_NAMES });
  if (config === undefined) return 2;
  const worker = new URL("./canary_worker.ts", import.meta.url);
  const name = Deno.env.get("CANARY") ?? "";
  const spawn = () => new Worker(worker, { type: "module", name });
  return await serve(config, { edge, spawn, silentMs: WORKER_SILENT_MS });
}

Deno.exit(await run());
