/**
 * How long an executable takes to start: until it has printed its version and
 * ended, and until it answers whether it lives.
 *
 * Invariant: whatever is started has ended before this returns, and every wait
 * is bounded.
 *
 * @module
 */
import { Running } from "../binary/executable.ts";

/** Odd ones out cost nothing in a median of so many. */
const STARTS = 20;

/** A start takes tens of milliseconds, on a busy machine some hundred. */
const START_MS_MAX = 10_000;

/** The median of some numbers; of an even count the lower of the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? NaN;
}

/** Medians in milliseconds. */
export async function startUpMs(
  path: string,
): Promise<{ readonly version: number; readonly healthz: number }> {
  const version: number[] = [];
  const healthz: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    version.push(await untilEnded(path));
    healthz.push(await untilHealthy(path));
  }
  return { version: median(version), healthz: median(healthz) };
}

async function untilEnded(path: string): Promise<number> {
  const startedAtMs = performance.now();
  const { success } = await new Deno.Command(path, {
    args: ["version"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
    signal: AbortSignal.timeout(START_MS_MAX),
  }).output();
  if (!success) throw new Error(`Cannot start "${path}"`);
  return performance.now() - startedAtMs;
}

/**
 * The port is told by the gateway: whoever tries to connect to a port that is
 * free yet may meet itself there, and take it away.
 */
async function untilHealthy(path: string): Promise<number> {
  const startedAtMs = performance.now();
  await using process = new Running(
    new Deno.Command(path, {
      args: [
        ...["serve", "--workers", "1", "--listen", "127.0.0.1:0"],
        // Nobody listens there: probes are refused at once.
        ...["--admin", "127.0.0.1:0", "--endpoint", "http://127.0.0.1:1"],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn(),
  );
  const [, port] = await process.until("out", /Admin on \S+:(\d+)/);
  await checkHealth(Number(port));
  return performance.now() - startedAtMs;
}

/** Asks over a plain connection, which costs next to nothing. */
async function checkHealth(port: number): Promise<void> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(
    new TextEncoder().encode(
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
  );
  const buffer = new Uint8Array(64);
  const count = await connection.read(buffer);
  const answer = new TextDecoder().decode(buffer.subarray(0, count ?? 0));
  if (answer.startsWith("HTTP/1.1 200 ")) return;
  throw new Error(`Cannot use the answer of /healthz: "${answer}"`);
}
