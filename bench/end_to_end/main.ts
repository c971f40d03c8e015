/**
 * End to end, beside HAProxy: CPU a request at full load, added time to first
 * byte at half load, and memory during a large upload.
 *
 * Needs `wrk`, `nginx` and `haproxy` (Debian packages of these names), two
 * processors and Linux. Rounds of the peers alternate, so that a machine that
 * slows down slows all of them; medians are printed.
 *
 * Usage: `deno run -A bench/end_to_end/main.ts [--rounds N] [--seconds N]
 * [--binary PATH]`
 *
 * Invariant: what is missing is said, and nothing is printed that was not
 * measured in this run.
 *
 * @module
 */
import { option, say } from "../../tests/run_options.ts";
import { startSwallower, uploadLargeBody } from "./large_body.ts";
import { haproxyPeer, type Peer, trystPeer } from "./peers.ts";
import { isInstalled, type Program, startProgram } from "./processes.ts";
import { DIRECT, engineArgv, PORTS } from "./stand_in.ts";
import { steadyLoad } from "./steady_load.ts";
import { type FullLoad, fullLoad, writeScript } from "./wrk.ts";

/** The programs under test run here, the load and the engine there. */
const CPUS = { peer: "0", load: "1" };

/** Keep-alive connections of the full load. */
const CONNECTIONS = 32;

/** Load before each measurement: compiling what is hot takes some seconds. */
const WARM_UP_SECONDS = 3;

/** Highest rate that the steady load itself can send, requests a second. */
const STEADY_RATE_MAX = 8_000;

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  for (const name of ["wrk", "nginx", "haproxy", "taskset"]) {
    if (await isInstalled(name)) continue;
    say(`Cannot measure end to end: ${name} is not installed`);
    return;
  }
  const rounds = Number(option(args, "--rounds") ?? 5);
  const seconds = Number(option(args, "--seconds") ?? 2);
  const tryst = trystPeer(option(args, "--binary"));
  const folder = await Deno.makeTempDir();
  try {
    await using _engine = await startProgram(await engineArgv(folder), {
      cpus: CPUS.load,
      port: PORTS.engine,
    });
    const peers = [DIRECT, await haproxyPeer(folder), tryst];
    const rate = await measureFullLoad(peers, { folder, rounds, seconds });
    await measureSteadyLoad(peers, { rate, rounds, seconds });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  await measureLargeBody(tryst);
}

/** Prints the table; returns half the rate that Tryst reached. */
async function measureFullLoad(
  peers: readonly Peer[],
  options: { folder: string; rounds: number; seconds: number },
): Promise<number> {
  const script = `${options.folder}/post.lua`;
  await writeScript(script);
  const runs = new Map<Peer, FullLoad[]>();
  for (let round = 0; round <= options.rounds; round++) {
    for (const peer of peers) {
      await using program = await startPeer(peer);
      const load = {
        port: peer.port,
        pid: program?.pid ?? Deno.pid,
        cpus: CPUS.load,
        connections: CONNECTIONS,
        script,
      };
      await fullLoad({ ...load, seconds: WARM_UP_SECONDS });
      const run = await fullLoad({ ...load, seconds: options.seconds });
      // The first round warms files and the machine up.
      if (round > 0) runs.set(peer, [...runs.get(peer) ?? [], run]);
    }
  }
  say(
    `Full load: ${CONNECTIONS} keep-alive connections, 1 KiB of JSON, ` +
      `key last; medians of ${options.rounds} rounds of ${options.seconds} s`,
  );
  for (const [peer, list] of runs) {
    const of = (pick: (run: FullLoad) => number) => median(list.map(pick));
    const cpu = peer.argv === undefined
      ? ""
      : `  CPU ${of((run) => run.cpuUs).toFixed(1)} us a request`;
    say(
      `  ${peer.name}: ${of((run) => run.requestsPerSecond).toFixed(0)}/s` +
        `  median ${of((run) => run.medianMs).toFixed(2)} ms` +
        `  p99 ${of((run) => run.p99Ms).toFixed(2)} ms${cpu}`,
    );
  }
  const reached = (runs.get(peers.at(-1) ?? DIRECT) ?? [])
    .map((run) => run.requestsPerSecond);
  return Math.min(STEADY_RATE_MAX, Math.round(median(reached) / 2));
}

async function measureSteadyLoad(
  peers: readonly Peer[],
  options: { rate: number; rounds: number; seconds: number },
): Promise<void> {
  const medians = new Map<Peer, number[]>();
  for (let round = 0; round < options.rounds; round++) {
    for (const peer of peers) {
      await using _program = await startPeer(peer);
      const load = {
        port: peer.port,
        requestsPerSecond: options.rate,
        connections: CONNECTIONS,
      };
      await steadyLoad({ ...load, seconds: WARM_UP_SECONDS });
      const times = await steadyLoad({ ...load, seconds: options.seconds });
      medians.set(peer, [...medians.get(peer) ?? [], median(times)]);
    }
  }
  say(`Steady load of ${options.rate}/s, half of what Tryst reached:`);
  const direct = median(medians.get(DIRECT) ?? []);
  for (const [peer, list] of medians) {
    const time = median(list);
    say(
      `  ${peer.name}: first byte after ${time.toFixed(3)} ms (median)` +
        (peer === DIRECT ? "" : `, added ${(time - direct).toFixed(3)} ms`),
    );
  }
}

async function measureLargeBody(tryst: Peer): Promise<void> {
  const engine = startSwallower();
  try {
    const argv = (tryst.argv ?? []).map((arg) =>
      arg.startsWith("--endpoint=")
        ? `--endpoint=http://127.0.0.1:${engine.port}`
        : arg
    );
    await using program = await startProgram(argv, {
      cpus: CPUS.peer,
      port: tryst.port,
    });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    say("One upload of 64 MiB:");
    for (const keyPlace of ["header", "body"] as const) {
      const upload = await uploadLargeBody({
        port: tryst.port,
        pid: program.pid,
        keyPlace,
        firstByte: engine.next(),
      });
      say(
        `  key in the ${keyPlace}: resident memory ` +
          `+${(upload.growthBytes / 2 ** 20).toFixed(1)} MiB, engine's first ` +
          `byte when ${(100 * upload.sentAtFirstByte).toFixed(1)} % was sent`,
      );
    }
  } finally {
    engine.close();
  }
}

async function startPeer(peer: Peer): Promise<Program | undefined> {
  if (peer.argv === undefined) return undefined;
  const program = await startProgram(peer.argv, {
    cpus: CPUS.peer,
    port: peer.port,
  });
  // The gateway takes requests once it has seen its endpoint.
  await new Promise((resolve) => setTimeout(resolve, 500));
  return program;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
