/**
 * The programs that measurements run, each pinned to its processors.
 *
 * Invariant: whatever happens, every process started here is ended, by its id.
 *
 * @module
 */

/** Milliseconds until a program that was started must accept connections. */
const START_MS = 10_000;

/** A running program. */
export interface Program extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
}

/**
 * Starts a program; resolves once its port accepts connections.
 *
 * @param options `cpus` is a list of processors as `taskset` takes it.
 */
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
    await untilAccepting(port);
  } catch (error) {
    await stop();
    throw new Error(`Cannot start ${argv[0]}`, { cause: error });
  }
  return { pid: process.pid, port, [Symbol.asyncDispose]: stop };
}

/** Whether a program of this name is installed. */
export async function isInstalled(name: string): Promise<boolean> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", `command -v ${name}`],
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}

async function untilAccepting(port: number): Promise<void> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
