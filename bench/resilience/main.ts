/**
 * What surviving costs: engines that die, clients that leave, clients that are
 * slow, and more requests than fit.
 *
 * Needs Linux, `taskset` and two processors. It takes some two minutes.
 *
 * Usage: `deno run -A bench/resilience/main.ts [--only failover|aborts|slow|
 * overload|heads] [--binary PATH]`
 *
 * Invariant: nothing is printed that was not measured in this run, and each
 * figure stands beside what is wanted of it.
 *
 * @module
 */
import { option, say } from "../../tests/run_options.ts";
import { measureAbortedStreams } from "./aborted_streams.ts";
import { measureFailover } from "./failover.ts";
import { measureOverload } from "./overload.ts";
import { measureSlowClients } from "./slow_clients.ts";
import { measureSlowHeads } from "./slow_heads.ts";

/** Measurements by name; each returns its lines. */
const MEASUREMENTS: Readonly<
  Record<string, (binary: string | undefined) => Promise<readonly string[]>>
> = { failover, aborts, slow, overload, heads };

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const only = option(args, "--only");
  if (only !== undefined && !Object.hasOwn(MEASUREMENTS, only)) {
    const known = Object.keys(MEASUREMENTS).join(", ");
    throw new TypeError(`Cannot find "${only}": known are ${known}`);
  }
  for (const [name, measure] of Object.entries(MEASUREMENTS)) {
    if (only !== undefined && only !== name) continue;
    say(`deno run -A bench/resilience/main.ts --only ${name}`);
    for (const line of await measure(option(args, "--binary"))) {
      say(`  ${line}`);
    }
  }
}

async function failover(binary: string | undefined) {
  const run = await measureFailover(binary);
  return [
    `${run.requests} requests at 200/s, half of them GET and half POST, ` +
    `while ${run.deaths} of 4 engines died in turn and came back`,
    `failed: ${run.failed}, of which the dead engine had read ` +
    `${run.reached}; beyond these ${run.failed - run.reached} (want 0)`,
    `GETs that failed: ${run.failedGets} (want 0); ` +
    `POSTs that engines read twice: ${run.doubled} (want 0)`,
    `saved by a further attempt: ${run.saved}`,
  ];
}

async function aborts(binary: string | undefined) {
  const run = await measureAbortedStreams(binary);
  const growth = 100 * (run.afterBytes / run.beforeBytes - 1);
  return [
    `${run.streams} streams aborted after the first event, in ` +
    `${run.seconds.toFixed(0)} s, after ${run.warmUpStreams} to warm up`,
    `resident memory: ${mebibytes(run.beforeBytes)} after the warm-up, ` +
    `${mebibytes(run.afterBytes)} at the end: ` +
    `${growth.toFixed(1)} % (want under 5 %)`,
    `sockets left to engines: ${run.sockets} (want 0)`,
  ];
}

async function slow(binary: string | undefined) {
  const run = await measureSlowClients(binary);
  const rise = 100 * (run.withMs / run.withoutMs - 1);
  return [
    `${run.idleClients} idle keep-alive clients and ${run.slowReaders} ` +
    "readers of 1 KiB/s beside 200 requests/s",
    `median latency: ${run.withoutMs.toFixed(3)} ms without them, ` +
    `${run.withMs.toFixed(3)} ms with them: ` +
    `${rise.toFixed(1)} % (want at most 20 %)`,
    `resident memory: ${mebibytes(run.withoutBytes)} without them, ` +
    `${mebibytes(run.withBytes)} with them`,
  ];
}

async function overload(binary: string | undefined) {
  const run = await measureOverload(binary);
  const share = 100 * run.goodput / run.capacity;
  return [
    `${run.offered} requests/s where ${run.capacity.toFixed(0)}/s fit`,
    `refusals: ${run.refused}, median ${run.refusalMs.toFixed(2)} ms ` +
    "(want under 5 ms)",
    `goodput: ${run.goodput.toFixed(0)}/s, ${share.toFixed(1)} % of what ` +
    "fits (want at least 95 %)",
    `neither answered nor refused: ${run.failed} (want 0)`,
  ];
}

async function heads(binary: string | undefined) {
  const runs = await measureSlowHeads(binary);
  return runs.map((run) => {
    const state = run.closedAfterMs === undefined
      ? `still open after ${seconds(run.watchedMs)}`
      : `closed after ${seconds(run.closedAfterMs)}`;
    return `a half-sent head at ${run.name}: ${state}; a stream of 1 s ` +
      `takes ${seconds(run.streamMs)} from first to last event`;
  });
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
