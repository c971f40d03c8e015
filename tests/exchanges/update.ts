/**
 * Plays every exchange and rewrites its file with what went over the wire.
 *
 * Run with `deno run -A tests/exchanges/update.ts` on the target version of
 * Deno, and review the difference as code.
 *
 * Invariant: inputs are never changed, only what the gateway made of them.
 *
 * @module
 */
import { lacks } from "../gateway/old_listener.ts";
import { readCases } from "./cases.ts";
import { formatExchange } from "./exchange_file.ts";
import { playExchange } from "./play.ts";

const reason = lacks("fieldOrder");
if (reason !== undefined) {
  throw new Error(`Cannot record with this version of Deno, as it ${reason}`);
}
for (const { exchange, text, url } of await readCases()) {
  const updated = formatExchange(await playExchange(exchange));
  if (updated !== text) await Deno.writeTextFile(url, updated);
}
