/**
 * Whether clients that hold connections slow the others down.
 *
 * Rounds without and with them alternate, so that a machine that slows down
 * slows both; the gateway has one processor and all else the other.
 *
 * Invariant: the same gateway serves all rounds.
 *
 * @module
 */
import { residentBytes } from "../end_to_end/usage.ts";
import { median, openLoop } from "./open_loop.ts";
import { CPUS } from "./processes.ts";
import { startEngineProcess, startGateway } from "./programs.ts";
import { requestText } from "./wire.ts";

const IDLE_CLIENTS = 2_000;
const SLOW_READERS = 500;

const ROUNDS = 4;
const ROUND_SECONDS = 3;
const REQUESTS_PER_SECOND = 200;

/** The first bytes fill the buffers of the kernel; what counts comes after. */
const SETTLE_MS = 3_000;

/** What the others' requests took, medians of rounds in milliseconds. */
export interface SlowClients {
  readonly idleClients: number;
  readonly slowReaders: number;
  readonly withoutMs: number;
  readonly withMs: number;
  /** Resident memory of the gateway with none and with all of them. */
  readonly withoutBytes: number;
  readonly withBytes: number;
}

/** Measures once. */
export async function measureSlowClients(
  binary: string | undefined,
): Promise<SlowClients> {
  await using stack = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const path = `${folder}/engine.sock`;
  const module = new URL("./endless_engine.ts", import.meta.url);
  stack.use(await startEngineProcess(module, ["--unix", path]));
  const gateway = stack.use(
    await startGateway({
      binary,
      workers: 1,
      config: [`endpoints: ["unix:${path}"]`],
    }),
  );
  const medians = { without: [] as number[], with: [] as number[] };
  await round(gateway.port);
  const withoutBytes = residentBytes(gateway.pid);
  let withBytes = 0;
  for (let n = 0; n < ROUNDS; n++) {
    medians.without.push(await round(gateway.port));
    await using _clients = await holdClients(gateway.port);
    medians.with.push(await round(gateway.port));
    withBytes = residentBytes(gateway.pid);
  }
  return {
    idleClients: IDLE_CLIENTS,
    slowReaders: SLOW_READERS,
    withoutMs: median(medians.without),
    withMs: median(medians.with),
    withoutBytes,
    withBytes,
  };
}

/** The median of one round. */
async function round(port: number): Promise<number> {
  const body = JSON.stringify({
    model: "sim",
    pad: "x".repeat(900),
    session_id: "session",
  });
  const request = requestText("POST", "/v1/chat/completions", { body });
  const outcomes = await openLoop({
    port,
    requestsPerSecond: REQUESTS_PER_SECOND,
    seconds: ROUND_SECONDS,
    connections: 16,
    request: () => request,
  });
  if (outcomes.some(({ answer }) => answer?.status !== 200)) {
    throw new Error("Cannot measure: a request has failed");
  }
  return median(outcomes.map(({ ms }) => ms));
}

/** Resolves once all of them are there and the buffers are full. */
async function holdClients(port: number): Promise<AsyncDisposable> {
  const module = new URL("./slow_clients_process.ts", import.meta.url);
  const process = new Deno.Command("taskset", {
    args: [
      ...["-c", CPUS.load, Deno.execPath(), "run", "-A", "--no-check"],
      ...[module.href, String(port), String(IDLE_CLIENTS)],
      String(SLOW_READERS),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.getReader();
  const { done } = await reader.read();
  if (done) throw new Error("Cannot measure: the slow clients have ended");
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return {
    async [Symbol.asyncDispose]() {
      await process.stdin.close();
      await reader.cancel();
      const { code } = await process.status;
      if (code !== 0) throw new Error("Cannot measure: a slow client failed");
    },
  };
}
