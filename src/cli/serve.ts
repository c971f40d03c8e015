/**
 * `tryst serve`: the gateway on its worker threads, with its admin listener.
 *
 * Invariant: it listens for clients before it says so, and ends only when it
 * is told to: the first signal lets requests finish, the second does not.
 *
 * @module
 */
import { AdminListener } from "../admin/admin_listener.ts";
import type { Config } from "../config/config.ts";
import type { Outside } from "../core/outside.ts";
import type { RoutesData } from "../gateway/routes.ts";
import { Supervisor } from "../server/supervisor.ts";
import { systemClock } from "../system/clock.ts";
import { createDial } from "../system/dial.ts";
import { lineLog, writeStderr } from "../system/log.ts";
import { SignalQueue } from "../system/signals.ts";
import { type Command, EXIT } from "./command.ts";
import { Control } from "../wiring/control.ts";
import type { Edge } from "./edge.ts";
import { CONFIG_FLAGS } from "./flags.ts";
import { loadConfig } from "./load_config.ts";
import { LOAD_NAMES } from "./load_names.ts";
import type { WorkerStart } from "../wiring/worker.ts";

/** The command. */
export const serveCommand: Command = {
  name: "serve",
  summary: "Run the gateway",
  flags: CONFIG_FLAGS,
  async run(args, edge) {
    const config = await loadConfig(args, { edge, names: LOAD_NAMES });
    if (config === undefined) return EXIT.refused;
    return await serve(config, edge);
  },
};

async function serve(config: Config, edge: Edge): Promise<number> {
  const outside: Outside = {
    clock: systemClock,
    random: Math.random,
    dial: createDial(),
    log: lineLog("info", writeStderr, systemClock.nowMs),
  };
  const workerCount = config.workers === "auto"
    ? navigator.hardwareConcurrency
    : config.workers;
  const control = new Control({ config, outside, workerCount });
  control.start();
  const supervisor = new Supervisor<WorkerStart, RoutesData>({
    count: workerCount,
    clock: outside.clock,
    log: outside.log,
    spawn: spawnWorker,
    start: { config, buffers: control.state.buffers },
    routes: () => control.directory.routes,
    reclaim: (index) => control.workerDied(index),
  });
  control.onRoutes((routes) => supervisor.publish(routes));
  let admin: AdminListener | undefined;
  try {
    admin = startAdmin(config, control);
    const port = await supervisor.start(config.listen.port);
    sayListening({ config, port, admin, workerCount }, edge);
    await untilStopped(config, outside, supervisor);
    return EXIT.ok;
  } catch (error) {
    edge.err(`Cannot serve: ${error instanceof Error ? error.message : error}`);
    return EXIT.failed;
  } finally {
    control.stop();
    await admin?.stop();
  }
}

function spawnWorker(): Worker {
  return new Worker(new URL("../wiring/worker.ts", import.meta.url), {
    type: "module",
  });
}

function startAdmin(config: Config, control: Control): AdminListener {
  return new AdminListener({
    ...config.admin.listen,
    readiness: () => control.readiness(),
    metrics: () => control.metrics.metrics(),
  });
}

/** Waits for a signal; ends the workers at once at the second one. */
async function untilStopped(
  config: Config,
  outside: Outside,
  supervisor: Supervisor<WorkerStart, RoutesData>,
): Promise<void> {
  const signals = new SignalQueue(["SIGINT", "SIGTERM"]);
  try {
    const signal = await signals.next();
    const { deadlineMs } = config.stop;
    const fields = { signal, "deadline_ms": deadlineMs };
    outside.log("info", "gateway.stopping", fields);
    await Promise.race([
      supervisor.stop(deadlineMs),
      signals.next().then(() => supervisor.stop(0)),
    ]);
  } finally {
    signals.close();
  }
}

function sayListening(
  started: {
    readonly config: Config;
    readonly port: number;
    readonly admin: AdminListener;
    readonly workerCount: number;
  },
  edge: Edge,
): void {
  const { config, port, admin, workerCount } = started;
  const host = (name: string) => name.includes(":") ? `[${name}]` : name;
  edge.out(
    [
      `Tryst listens on http://${host(config.listen.hostname)}:${port}` +
      ` with ${workerCount} worker${workerCount === 1 ? "" : "s"}`,
      `Admin on http://${host(config.admin.listen.hostname)}:${admin.port}` +
      ` (/healthz, /readyz, /metrics)`,
      `${config.endpoints.length} endpoint${
        config.endpoints.length === 1 ? "" : "s"
      }: ${config.endpoints.map(({ id }) => id).join(", ")}`,
    ].join("\n"),
  );
}
