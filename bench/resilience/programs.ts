/**
 * The gateway and its engines as processes of their own, on free ports.
 *
 * Invariant: whatever happens, every process started here is ended, by its id.
 *
 * @module
 */
import { type Program, startProgram } from "../end_to_end/processes.ts";
import { CPUS, freePort } from "./processes.ts";
import { until } from "./until.ts";

/** What runs where there is no executable. */
const SOURCES = new URL("../../main.ts", import.meta.url);

/** How a gateway is started. */
export interface GatewayOptions {
  /** The executable; the sources are run unless given. */
  readonly binary?: string | undefined;
  readonly workers: number;
  /** Lines of the configuration besides addresses and workers. */
  readonly config: readonly string[];
}

/** A gateway that serves, and where it does. */
export interface Gateway extends Program {
  /** Base URL of its admin address. */
  readonly admin: string;
}

/** Starts a gateway; resolves once all its endpoints are eligible. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const port = freePort();
  const adminPort = freePort();
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    [
      `listen: 127.0.0.1:${port}`,
      `admin: { listen: 127.0.0.1:${adminPort} }`,
      `workers: ${options.workers}`,
      ...options.config,
    ].join("\n"),
  );
  const program = options.binary === undefined
    ? [Deno.execPath(), "run", "-A", "--no-check", SOURCES.href]
    : [options.binary];
  try {
    const started = await startProgram([
      ...program,
      ...["serve", "--config", file],
    ], { cpus: options.workers > 1 ? CPUS.both : CPUS.gateway, port });
    const admin = `http://127.0.0.1:${adminPort}`;
    try {
      await until("readiness", () => isReady(admin));
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
    return { ...started, admin };
  } finally {
    await Deno.remove(file);
  }
}

/** Starts a module that takes `--port` as an engine; resolves as it listens. */
export async function startEngineProcess(
  module: URL,
  args: readonly string[] = [],
): Promise<Program> {
  const port = freePort();
  return await startProgram([
    ...[Deno.execPath(), "run", "-A", "--no-check", module.href],
    ...["--port", String(port), ...args],
  ], { cpus: CPUS.load, port });
}

async function isReady(admin: string): Promise<boolean> {
  const response = await fetch(`${admin}/readyz`).catch(() => undefined);
  const { eligible, total } = await response?.json() ?? {};
  return response !== undefined && eligible === total;
}
