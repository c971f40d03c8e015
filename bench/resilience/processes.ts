/**
 * Programs of a measurement, each on its processors and a free port.
 *
 * Invariant: whatever happens, every process started here is ended, by its id.
 *
 * @module
 */
import { until } from "./until.ts";

/** Below the ports that the kernel gives to clients, so that none takes one. */
const PORTS = { min: 20_000, max: 30_000 };

/**
 * Lists of processors, as `taskset` takes them: a gateway of one worker has one
 * to itself, and all else the other.
 */
export const CPUS = { gateway: "0", load: "1", both: "0-1" };

/** A running program. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/** Starts a program; resolves once its port accepts connections. */
export async function startProgram(
  argv: readonly string[],
  options: { readonly cpus: string; readonly port: number },
): Promise<Program> {
  const { cpus, port } = options;
  const process = new Deno.Command("taskset", {
    args: ["-c", cpus, ...argv],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  async function stop(): Promise<void> {
    try {
      process.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await process.status;
  }
  try {
    await until(`${argv[0]} to listen`, () => isAccepting(port));
  } catch (error) {
    await stop();
    throw error;
  }
  return { pid: process.pid, port, [Symbol.asyncDispose]: stop };
}

async function isAccepting(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}

/** A port on loopback that nobody has at the moment. */
export function freePort(): number {
  for (;;) {
    const port = PORTS.min +
      Math.floor(Math.random() * (PORTS.max - PORTS.min));
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
