/**
 * What it costs to watch a gateway: requests a second with a line of the log
 * for each and its metrics read each second, beside one that is not watched;
 * and how soon the admin side answers while clients take all they can.
 *
 * Both gateways run side by side and are loaded in turn, some seconds each, so
 * that a machine that slows down slows both. One worker and the main thread
 * share a processor, which is the worst that an admin side can meet. Counters
 * are kept in both, as nothing turns them off. Needs `wrk`, `nginx` and
 * `taskset`, two processors and Linux.
 *
 * Usage: `deno run -A bench/end_to_end/observation.ts [--rounds N]
 * [--seconds N] [--binary PATH]`
 *
 * Invariant: nothing is printed that was not measured in this run, and each
 * figure stands beside what is wanted of it.
 *
 * @module
 */
import { numberOption, option, say } from "../../tests/run_options.ts";
import { freePort } from "../resilience/processes.ts";
import { isInstalled, type Program, startProgram } from "./processes.ts";
import { engineArgv, PORTS } from "./stand_in.ts";
import { type FullLoad, fullLoad, writeScript } from "./wrk.ts";

const CPUS = { gateway: "0", load: "1" };

/** Keep-alive connections of the full load. */
const CONNECTIONS = 32;

/** Load before the first round: compiling what is hot takes some seconds. */
const WARM_UP_SECONDS = 4;

/** Milliseconds between two readings of the metrics of the watched one. */
const SCRAPE_MS = 1_000;

/** Milliseconds between two questions to the admin side under load. */
const ASK_PAUSE_MS = 20;

const ADMIN_PATHS = ["/status", "/endpoints", "/metrics"];

/** A gateway of this measurement. */
interface Gateway extends AsyncDisposable {
  readonly program: Program;
  readonly adminUrl: string;
}

/** One round. */
interface Pair {
  readonly plain: FullLoad;
  readonly seen: FullLoad;
}

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  for (const name of ["wrk", "nginx", "taskset"]) {
    if (await isInstalled(name)) continue;
    say(`Cannot measure observation: ${name} is not installed`);
    return;
  }
  const rounds = numberOption(args, "--rounds") ?? 9;
  const seconds = numberOption(args, "--seconds") ?? 2;
  const binary = option(args, "--binary");
  const folder = await Deno.makeTempDir();
  const script = `${folder}/post.lua`;
  try {
    await writeScript(script);
    await using _engine = await startProgram(await engineArgv(folder), {
      cpus: CPUS.load,
      port: PORTS.engine,
    });
    await using quiet = await startGateway(folder, { access: "none", binary });
    await using watched = await startGateway(folder, { access: "all", binary });
    const load = { script, seconds };
    for (const gateway of [quiet, watched]) {
      await loadOn(gateway, { script, seconds: WARM_UP_SECONDS });
    }
    const pairs: Pair[] = [];
    for (let round = 0; round < rounds; round++) {
      const plain = await loadOn(quiet, load);
      const stop = scrape(watched);
      pairs.push({ plain, seen: await loadOn(watched, load) });
      await stop();
    }
    report(pairs);
    say(`  medians of ${rounds} rounds of ${seconds} s`);
    await measureAdmin(watched, load);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function startGateway(
  folder: string,
  { access, binary }: {
    readonly access: "all" | "none";
    readonly binary: string | undefined;
  },
): Promise<Gateway> {
  const [port, adminPort] = [freePort(), freePort()];
  const config = `${folder}/${access}.yaml`;
  await Deno.writeTextFile(
    config,
    [
      `listen: 127.0.0.1:${port}`,
      `admin: { listen: 127.0.0.1:${adminPort} }`,
      "workers: 1",
      `log: { access: ${access} }`,
      `endpoints: [{ id: e, url: http://127.0.0.1:${PORTS.engine} }]`,
    ].join("\n"),
  );
  const program = binary === undefined
    ? [Deno.execPath(), "run", "-A", "--no-check", "main.ts"]
    : [binary];
  // The log goes to a file, as lines that nobody takes cost too little.
  const started = await startProgram([
    ...["sh", "-c", `exec "$0" "$@" 2>${folder}/${access}.log`],
    ...program,
    ...["serve", "--config", config],
  ], { cpus: CPUS.gateway, port });
  return {
    program: started,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

async function loadOn(
  { program }: Gateway,
  { script, seconds }: { readonly script: string; readonly seconds: number },
): Promise<FullLoad> {
  return await fullLoad({
    port: program.port,
    pid: program.pid,
    cpus: CPUS.load,
    connections: CONNECTIONS,
    seconds,
    script,
  });
}

/** Each round is compared in itself, as the machine changes from one to another. */
function report(pairs: readonly Pair[]): void {
  const of = (pick: (pair: Pair) => number) => median(pairs.map(pick));
  const lost = of(({ plain, seen }) =>
    1 - seen.requestsPerSecond / plain.requestsPerSecond
  );
  const more = of(({ plain, seen }) => seen.cpuUs / plain.cpuUs - 1);
  say(
    `Watched: ${of(({ seen }) => seen.requestsPerSecond).toFixed(0)}/s,` +
      ` not watched: ${
        of(({ plain }) => plain.requestsPerSecond).toFixed(0)
      }/s`,
  );
  say(
    `  costs ${(100 * lost).toFixed(1)} % of requests a second (want at most` +
      ` 10), and ${(100 * more).toFixed(1)} % more CPU time a request:` +
      ` ${of(({ seen }) => seen.cpuUs).toFixed(1)} us to` +
      ` ${of(({ plain }) => plain.cpuUs).toFixed(1)} us`,
  );
}

/** Reads the metrics now and then; call what it returns to end that. */
function scrape({ adminUrl }: Gateway): () => Promise<void> {
  let reading = Promise.resolve("");
  const timer = setInterval(() => {
    reading = fetch(`${adminUrl}/metrics`).then((answer) => answer.text());
  }, SCRAPE_MS);
  return async () => {
    clearInterval(timer);
    await reading;
  };
}

async function measureAdmin(
  gateway: Gateway,
  load: { readonly script: string; readonly seconds: number },
): Promise<void> {
  say(`The admin side under full load (want a median under 50 ms):`);
  for (const path of ADMIN_PATHS) {
    const times: number[] = [];
    let isOver = false;
    const loading = loadOn(gateway, load).finally(() => isOver = true);
    while (!isOver) {
      const startedAt = performance.now();
      const answer = await fetch(gateway.adminUrl + path);
      await answer.text();
      if (!answer.ok) throw new Error(`Cannot ask ${path}: ${answer.status}`);
      times.push(performance.now() - startedAt);
      await new Promise((resolve) => setTimeout(resolve, ASK_PAUSE_MS));
    }
    const { requestsPerSecond } = await loading;
    const worst = Math.max(...times);
    say(
      `  ${path}: median ${median(times).toFixed(1)} ms, worst` +
        ` ${worst.toFixed(1)} ms of ${times.length}, beside` +
        ` ${requestsPerSecond.toFixed(0)} requests/s`,
    );
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
