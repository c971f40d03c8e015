/**
 * What an upgrade costs: a gateway is replaced under load by another process
 * on the same port, again and again, as the README has it.
 *
 * Each time the old one writes a snapshot, the new one starts on it and gets
 * ready, and the old one is told to stop. Clients that connect for each
 * request and clients that keep their connection count what fails. Needs
 * Linux and `taskset`.
 *
 * With `--steer` each process has a port of its own, and nftables sends new
 * connections to the newer one. That takes a network of its own: run it by
 * `unshare -rn sh -c 'ip link set lo up && deno run -A ... --steer'`.
 *
 * Usage: `deno run -A bench/restart/upgrade.ts [--upgrades N] [--rate N]
 * [--staying N] [--sessions N] [--grace MS] [--binary PATH] [--steer]`
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
import { seedState } from "./seeded_state.ts";
import { type Tally, Visitors } from "./visitors.ts";

const SOURCES = new URL("../../main.ts", import.meta.url);

const ENDPOINTS = ["e0", "e1", "e2", "e3"];
const MODELS = ["m"];

/** Thirty minutes: the default. */
const IDLE_TTL_MS = 1_800_000;

/** Twice the sessions that are alive, and those that come. */
const CAPACITY_FACTOR = 4;

/** What gateways are started with. */
interface Site {
  readonly port: number;
  readonly config: string;
  readonly binary: string | undefined;
  /** Whether nftables decides who gets connections. */
  readonly isSteered: boolean;
}

/** One process. */
interface Gateway {
  readonly program: Program;
  readonly adminPort: number;
}

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const upgrades = numberOption(args, "--upgrades") ?? 20;
  const rate = numberOption(args, "--rate") ?? 300;
  const staying = numberOption(args, "--staying") ?? 16;
  const count = numberOption(args, "--sessions") ?? 5_000;
  const graceMs = numberOption(args, "--grace", { least: 0 }) ?? 2_000;
  const root = await Deno.makeTempDir();
  const engines = ENDPOINTS.map(() => startModelServer(MODELS));
  try {
    const sessions = await seedState({
      directory: `${root}/state`,
      endpoints: ENDPOINTS,
      models: MODELS,
      sessions: count,
      capacity: CAPACITY_FACTOR * count,
      idleTtlMs: IDLE_TTL_MS,
    });
    const site = await writeSite(root, {
      capacity: CAPACITY_FACTOR * count,
      graceMs,
      binary: option(args, "--binary"),
      isSteered: args.includes("--steer"),
      ports: engines.map(({ addr }) => addr.port),
    });
    let gateway = await startGateway(site);
    const visitors = new Visitors({
      port: site.port,
      connectsPerSecond: rate,
      stayingCount: staying,
      sessions,
    });
    try {
      const met: number[] = [];
      for (let n = 0; n < upgrades; n++) {
        const before = visitors.tally.failed;
        gateway = await upgrade(gateway, site);
        const lost = visitors.tally.failed - before;
        if (lost > 0) say(`  upgrade ${n + 1}: ${lost} failed`);
        const { count, strayed } = visitors.callers();
        const strayedCount = [...strayed.values()].reduce((a, b) => a + b, 0);
        for (const [outcome, of] of strayed) {
          say(`  upgrade ${n + 1}: ${of} of ${count} sessions ${outcome}`);
        }
        met.push(1 - strayedCount / count);
      }
      report(await visitors.end(), met);
    } finally {
      await visitors.end();
      await gateway.program[Symbol.asyncDispose]();
    }
  } finally {
    for (const engine of engines) await engine.shutdown();
    await Deno.remove(root, { recursive: true });
  }
}

/** Writes the configuration that both processes have. */
async function writeSite(
  root: string,
  { binary, capacity, graceMs, isSteered, ports }: {
    readonly capacity: number;
    readonly graceMs: number;
    readonly binary: string | undefined;
    readonly isSteered: boolean;
    readonly ports: readonly number[];
  },
): Promise<Site> {
  const port = freePort();
  const config = `${root}/tryst.yaml`;
  await Deno.writeTextFile(
    config,
    [
      `listen: 127.0.0.1:${port}`,
      "workers: 2",
      `session: { capacity: ${capacity} }`,
      `stop: { ready_grace: ${graceMs === 0 ? "0s" : `${graceMs}ms`} }`,
      `state: { directory: "${root}/state" }`,
      "endpoints:",
      ...ports.map((port, n) =>
        `  - { id: ${ENDPOINTS[n]}, url: "http://127.0.0.1:${port}" }`
      ),
    ].join("\n"),
  );
  return { port, config, binary, isSteered };
}

/** Resolves once all endpoints are eligible. */
async function startGateway(site: Site): Promise<Gateway> {
  const { binary, config, isSteered } = site;
  const program = binary === undefined
    ? [Deno.execPath(), "run", "-A", "--no-check", SOURCES.href]
    : [binary];
  const adminPort = freePort();
  const port = isSteered ? freePort() : site.port;
  // The port of clients may be another's: that of the admin side tells.
  const started = await startProgram([
    ...program,
    ...["serve", "--config", config],
    ...["--admin", `127.0.0.1:${adminPort}`],
    ...["--listen", `127.0.0.1:${port}`],
  ], { cpus: CPUS.both, port: adminPort });
  await until("readiness", async () => {
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
    const { eligible } = await response.json();
    return response.status === 200 && eligible === ENDPOINTS.length;
  });
  if (isSteered) await steer(site.port, port);
  return { program: started, adminPort };
}

/** Has new connections go to another port; those there are stay. */
async function steer(from: number, to: number): Promise<void> {
  const rules = [
    "add table ip tryst",
    "delete table ip tryst",
    "table ip tryst {",
    "  chain output {",
    "    type nat hook output priority -100;",
    `    ip daddr 127.0.0.1 tcp dport ${from} redirect to :${to}`,
    "  }",
    "}",
    "",
  ].join("\n");
  const nft = new Deno.Command("nft", { args: ["-f", "-"], stdin: "piped" })
    .spawn();
  const input = nft.stdin.getWriter();
  await input.write(new TextEncoder().encode(rules));
  await input.close();
  const { success } = await nft.status;
  if (!success) throw new Error("Cannot steer connections: nft says why");
}

/** The recipe; resolves once the old process has gone. */
async function upgrade(old: Gateway, site: Site): Promise<Gateway> {
  const admin = `http://127.0.0.1:${old.adminPort}`;
  const saved = await fetch(`${admin}/snapshot`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  if (!saved.ok) throw new Error(`Cannot take a snapshot: ${saved.status}`);
  await saved.body?.cancel();
  const gateway = await startGateway(site);
  Deno.kill(old.program.pid, "SIGTERM");
  await until("the end of the old one", async () => {
    try {
      await (await fetch(`${admin}/healthz`)).body?.cancel();
      return false;
    } catch {
      return true;
    }
  });
  await old.program[Symbol.asyncDispose]();
  return gateway;
}

function report(tally: Tally, met: readonly number[]): void {
  const { causes, failed, homes, requests, reused } = tally;
  const upgrades = met.length;
  const mean = 100 * met.reduce((sum, share) => sum + share) / upgrades;
  say(
    `${upgrades} upgrades under ${requests} requests,` +
      ` ${reused} of them on connections that were used before`,
  );
  say(`  ${failed} requests failed (want 0)`);
  for (const [cause, count] of causes) say(`    ${count} ${cause}`);
  say(
    `  ${mean.toFixed(3)} % of the sessions that called during an upgrade met` +
      ` their endpoint (want at least 99.9), of ${homes.size} sessions`,
  );
}
