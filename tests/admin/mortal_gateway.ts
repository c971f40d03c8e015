/**
 * The gateway with workers that can be told to die or hang, by lines on
 * standard input:
 *
 * - `crash N`, `hang N`: what worker N does at once;
 * - `curse`, `bless`: whether workers started from now on die at once;
 * - `held`: prints what each worker holds, and what all hold together, as read
 *   from shared memory.
 *
 * @module
 */
import { parseArgs } from "../../src/cli/args.ts";
import { processEdge } from "../../src/cli/edge.ts";
import { CONFIG_FLAGS } from "../../src/cli/flags.ts";
import { loadConfig } from "../../src/cli/load_config.ts";
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import { serve } from "../../src/cli/serve.ts";
import type { Config } from "../../src/config/config.ts";
import { Ledger } from "../../src/core/placement/ledger.ts";
import {
  attachSharedState,
  budgetOf,
  type SharedBuffers,
} from "../../src/wiring/shared_state.ts";

/** Heartbeats may fail to come for so long, in milliseconds. */
const SILENT_MS = 2_000;

const CURSED = "data:text/javascript,throw new Error('cursed')";

/** Workers by index, as the supervisor has started them. */
const workers = new Map<number, Worker>();
let buffers: SharedBuffers | undefined;
let isCursed = false;

/** Learns from the start command which worker it is, and what it shares. */
class WatchedWorker extends Worker {
  override postMessage(
    message: unknown,
    options?: StructuredSerializeOptions | Transferable[],
  ): void {
    const { kind, index, start } = message as {
      kind: string;
      index: number;
      start: { buffers: SharedBuffers };
    };
    if (kind === "start") {
      workers.set(index, this);
      buffers = start.buffers;
    }
    super.postMessage(message, options as StructuredSerializeOptions);
  }
}

function spawn(): Worker {
  const module = new URL("./mortal_worker.ts", import.meta.url).href;
  return new WatchedWorker(isCursed ? CURSED : module, { type: "module" });
}

/** What is held, as one line. */
function heldText(config: Config): string {
  if (buffers === undefined) return "held {}";
  const shared = buffers;
  const { counters, sessions } = attachSharedState(shared);
  const received = counters.layout.offset("tryst_requests_received_total");
  const indexes = shared.ledgers.map((_, index) => index);
  let pins = 0;
  sessions.sweep(
    { from: 0, count: sessions.capacity, nowMs: Date.now() },
    (session) => pins += session.pins,
  );
  return `held ${
    JSON.stringify({
      places: shared.ledgers.map((ledger) => new Ledger(ledger).openCount),
      requests: indexes.map((index) =>
        budgetOf(config, shared, index).ownRequests
      ),
      received: indexes.map((index) => counters.row(index)[received] ?? 0),
      allRequests: budgetOf(config, shared, 0).held().requests,
      pins,
    })
  }`;
}

function obey(line: string, config: Config): void {
  const [kind = "", index = ""] = line.split(" ");
  if (kind === "curse") isCursed = true;
  else if (kind === "bless") isCursed = false;
  else if (kind === "held") processEdge().out(heldText(config));
  else workers.get(Number(index))?.postMessage({ kind });
}

async function listen(config: Config): Promise<void> {
  const text = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
  for await (const lines of text) {
    for (const line of lines.trimEnd().split("\n")) obey(line, config);
  }
}

async function run(): Promise<number> {
  const edge = processEdge();
  const args = parseArgs(Deno.args.slice(1), CONFIG_FLAGS);
  const config = await loadConfig(args, { edge, names: LOAD_NAMES });
  if (config === undefined) return 2;
  listen(config);
  return await serve(config, { edge, spawn, silentMs: SILENT_MS });
}

Deno.exit(await run());
