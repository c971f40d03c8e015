/**
 * What a restart costs with many live sessions: how long until the gateway is
 * ready, and how many sessions still meet their endpoint.
 *
 * The program is started on a snapshot of 200,000 sessions, serves some of
 * them, is told to stop, and is started again on the snapshot that it has
 * written itself; then sessions call once more. The same start without a
 * snapshot stands beside it. Needs Linux, `taskset` and two processors.
 *
 * Usage: `deno run -A bench/restart/main.ts [--sessions N] [--calls N]
 * [--rounds N] [--binary PATH]`
 *
 * Invariant: nothing is printed that was not measured in this run, and each
 * figure stands beside what is wanted of it.
 *
 * @module
 */
import { numberOption, option, say } from "../../tests/run_options.ts";
import { type Program, startProgram } from "../end_to_end/processes.ts";
import { CPUS, freePort } from "../resilience/processes.ts";
import { until } from "../resilience/until.ts";
import { startModelServer } from "./model_server.ts";
import { type SeededSession, seedState } from "./seeded_state.ts";

const SOURCES = new URL("../../main.ts", import.meta.url);

/** Twice the sessions that are alive, as the table wants it. */
const CAPACITY_FACTOR = 2.5;

/** Thirty minutes: the default. */
const IDLE_TTL_MS = 1_800_000;

const ENDPOINTS = ["e0", "e1", "e2", "e3"];
const MODELS = ["m"];

/** Connections at once. */
const CLIENTS = 16;

/** Milliseconds between two looks at readiness. */
const LOOK_MS = 2;

/** A gateway that is ready, and how long that took. */
interface Started extends AsyncDisposable {
  readonly port: number;
  readonly readyMs: number;
  metric(name: string): Promise<number>;
  /** Ends it in order. */
  stop(): Promise<void>;
}

/** What one round came to. */
interface Round {
  readonly emptyMs: number;
  readonly readyMs: number;
  readonly met: number;
  readonly bytes: number;
  readonly writeMs: number;
}

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const sessions = numberOption(args, "--sessions") ?? 200_000;
  const calls = numberOption(args, "--calls") ?? 10_000;
  const rounds = numberOption(args, "--rounds") ?? 3;
  const engines = ENDPOINTS.map(() => startModelServer(MODELS));
  try {
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      const ports = engines.map(({ addr }) => addr.port);
      const binary = option(args, "--binary");
      results.push(await measure({ sessions, calls, ports, binary }));
    }
    report(results, { sessions, calls });
  } finally {
    for (const engine of engines) await engine.shutdown();
  }
}

async function measure(
  options: {
    readonly sessions: number;
    readonly calls: number;
    readonly ports: readonly number[];
    readonly binary: string | undefined;
  },
): Promise<Round> {
  const { calls, sessions } = options;
  const root = await Deno.makeTempDir();
  const capacity = Math.ceil(CAPACITY_FACTOR * sessions);
  const setUp = { ...options, capacity };
  try {
    const empty = await startGateway({ ...setUp, directory: `${root}/empty` });
    await empty[Symbol.asyncDispose]();
    const directory = `${root}/state`;
    const bound = await seedState({
      directory,
      endpoints: ENDPOINTS,
      models: MODELS,
      sessions,
      capacity,
      idleTtlMs: IDLE_TTL_MS,
    });
    const sample = bound.slice(0, calls);
    const file = { bytes: NaN, writeMs: NaN };
    {
      await using first = await startGateway({ ...setUp, directory });
      await callAll(first.port, sample);
      await until(
        "a snapshot",
        async () => await first.metric("tryst_snapshot_sessions") >= sessions,
      );
      file.bytes = await first.metric("tryst_snapshot_bytes");
      const seconds = await first.metric("tryst_snapshot_duration_seconds");
      file.writeMs = 1_000 * seconds;
      await first.stop();
    }
    await using second = await startGateway({ ...setUp, directory });
    const met = await callAll(second.port, sample) / sample.length;
    return {
      emptyMs: empty.readyMs,
      readyMs: second.readyMs,
      met,
      ...file,
    };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Starts the program; resolves once all its endpoints are eligible. */
async function startGateway(
  options: {
    readonly directory: string;
    readonly capacity: number;
    readonly ports: readonly number[];
    readonly binary: string | undefined;
  },
): Promise<Started> {
  const port = freePort();
  const adminPort = freePort();
  const config = `${options.directory}.yaml`;
  await Deno.writeTextFile(
    config,
    [
      `listen: 127.0.0.1:${port}`,
      `admin: { listen: 127.0.0.1:${adminPort} }`,
      `session: { capacity: ${options.capacity} }`,
      `state: { directory: "${options.directory}", interval: 1s }`,
      "endpoints:",
      ...options.ports.map((port, n) =>
        `  - { id: ${ENDPOINTS[n]}, url: "http://127.0.0.1:${port}" }`
      ),
    ].join("\n"),
  );
  const program = options.binary === undefined
    ? [Deno.execPath(), "run", "-A", "--no-check", SOURCES.href]
    : [options.binary];
  const startedMs = performance.now();
  const started = await startProgram([
    ...program,
    ...["serve", "--config", config],
  ], { cpus: CPUS.both, port });
  const admin = `http://127.0.0.1:${adminPort}`;
  await untilReady(admin);
  const readyMs = performance.now() - startedMs;
  return {
    port,
    readyMs,
    metric: (name) => metricOf(admin, name),
    stop: () => stop(started, adminPort),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

async function untilReady(admin: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) {
    const response = await fetch(`${admin}/readyz`).catch(() => undefined);
    const { eligible } = await response?.json() ?? {};
    if (response?.status === 200 && eligible === ENDPOINTS.length) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  throw new Error("Cannot wait longer for readiness");
}

/** Tells it to stop and waits until its admin side, the last, is gone. */
async function stop({ pid }: Program, adminPort: number): Promise<void> {
  Deno.kill(pid, "SIGTERM");
  await until("the end", async () => {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port: adminPort })).close();
      return false;
    } catch {
      return true;
    }
  });
}

async function metricOf(admin: string, name: string): Promise<number> {
  const page = await (await fetch(`${admin}/metrics`)).text();
  const line = page.split("\n").find((line) => line.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? NaN);
}

/** Has each session call once; resolves to how many met their endpoint. */
async function callAll(
  port: number,
  sessions: readonly SeededSession[],
): Promise<number> {
  let met = 0;
  let next = 0;
  const client = async () => {
    for (;;) {
      const session = sessions[next++];
      if (session === undefined) return;
      const url = `http://127.0.0.1:${port}/v1/chat/completions`;
      const response = await fetch(url, {
        method: "POST",
        headers: { "x-session-id": session.key },
        body: '{"model":"m"}',
      });
      await response.body?.cancel();
      const { headers } = response;
      const isHit = headers.get("x-tryst-affinity") === "hit" &&
        headers.get("x-tryst-endpoint") === session.endpoint;
      if (isHit) met++;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return met;
}

function report(
  rounds: readonly Round[],
  { sessions, calls }: { readonly sessions: number; readonly calls: number },
): void {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  const met = 100 * of((round) => round.met);
  say(`${sessions} live sessions; medians of ${rounds.length} rounds`);
  say(
    `  ready after ${of((round) => round.readyMs).toFixed(0)} ms` +
      ` (want under 1000), without a snapshot after` +
      ` ${of((round) => round.emptyMs).toFixed(0)} ms`,
  );
  say(
    `  ${met.toFixed(2)} % of ${calls} sessions met their endpoint` +
      ` (want at least 99.9)`,
  );
  say(
    `  snapshot: ${(of((round) => round.bytes) / 2 ** 20).toFixed(1)} MiB,` +
      ` written in ${of((round) => round.writeMs).toFixed(0)} ms`,
  );
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
