/**
 * `tryst serve`: the gateway on its worker threads, with its admin listener.
 *
 * Invariant: it listens for clients before it says so, and ends only when it
 * is told to, or when a worker hangs, which nothing else can mend. Its exit
 * code is 0 only when no request was cut.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import type { AdminListener } from "../admin/admin_listener.ts";
import { registerBuild } from "../admin/metrics/process_metrics.ts";
import type { Config } from "../config/config.ts";
import type { ApiKey } from "../core/api_key.ts";
import type { Outside } from "../core/outside.ts";
import type { RoutesData } from "../gateway/routes.ts";
import { Supervisor, WORKER_SILENT_MS } from "../server/supervisor.ts";
import { systemClock } from "../system/clock.ts";
import { createDial } from "../system/dial.ts";
import { SignalQueue } from "../system/signals.ts";
import { Control } from "../wiring/control.ts";
import { untilSeen } from "../wiring/first_look.ts";
import { LiveBook } from "../wiring/live_book.ts";
import { RecentFailures } from "../wiring/recent_failures.ts";
import type { DrainKeeper } from "../wiring/drain_keeper.ts";
import type { Secrets } from "../wiring/secrets.ts";
import type { SessionKeeper } from "../wiring/session_keeper.ts";
import { budgetOf } from "../wiring/shared_state.ts";
import type { WorkerStart } from "../wiring/worker.ts";
import { startAdmin } from "./admin_side.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import { CONFIG_FLAGS } from "./flags.ts";
import { keepDrains, keepSessions } from "./kept_sessions.ts";
import { listeningText } from "./listening_text.ts";
import { loadConfig } from "./load_config.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { type LogSide, startLog } from "./log_side.ts";
import { type NamedFiles, readNamedFiles } from "./named_files.ts";
import { type ConfigSource, configSource, Reloading } from "./reloading.ts";
import { ServiceReports } from "./service_reports.ts";
import { untilStopped } from "./stop_sequence.ts";

/** The command. */
export const serveCommand: Command = {
  name: "serve",
  summary: "Run the gateway",
  flags: CONFIG_FLAGS,
  async run(args, edge) {
    const config = await loadConfig(args, { edge, names: LOAD_NAMES });
    if (config === undefined) return EXIT.refused;
    let named: NamedFiles;
    try {
      named = await readNamedFiles(config, edge);
    } catch (error) {
      edge.err(error instanceof Error ? error.message : String(error));
      return EXIT.refused;
    }
    return await serve(config, {
      edge,
      spawn: spawnWorker,
      silentMs: WORKER_SILENT_MS,
      ...named,
      source: configSource(args, edge),
    });
  },
};

/** What a gateway is run with besides its configuration. */
export interface ServeOptions {
  readonly edge: Edge;
  /** Starts a worker thread. */
  readonly spawn: () => Worker;
  /** Silence after which a worker hangs. */
  readonly silentMs: number;
  /** What the admin API asks for; `undefined` for nothing. */
  readonly adminToken?: string | undefined;
  /** API keys of clients and credentials of endpoints; none if absent. */
  readonly secrets?: Secrets<ApiKey>;
  /** Where its configuration can be read again. */
  readonly source?: ConfigSource;
}

/** The parts of a running gateway. */
interface Running {
  readonly config: Config;
  readonly outside: Outside;
  readonly setLogLevel: LogSide["setLevel"];
  readonly workerCount: number;
  readonly control: Control;
  readonly failures: RecentFailures;
  readonly live: LiveBook;
  readonly drains: DrainKeeper;
  /** `undefined` when sessions need not outlive the gateway. */
  readonly keeper: SessionKeeper | undefined;
  readonly supervisor: Supervisor<WorkerStart, RoutesData>;
  /** Resolves to the index of a worker that hangs. */
  readonly hung: Promise<number>;
  readonly service: ServiceReports;
  readonly reloading: Reloading;
  isStopping: boolean;
}

/** Runs a gateway until it is told to end; resolves to the exit code. */
export async function serve(
  config: Config,
  options: ServeOptions,
): Promise<number> {
  const { edge } = options;
  const running = createRunning(config, options);
  const { control, drains, keeper, reloading, service, supervisor } = running;
  control.start(await keeper?.read());
  await drains.start();
  control.onRoutes((routes) => supervisor.publish(routes));
  let admin: AdminListener | undefined;
  try {
    admin = startAdmin(running, {
      token: options.adminToken,
      setLogLevel: running.setLogLevel,
      reload: () => reloading.reload("admin"),
    });
    await keeper?.restore();
    await untilSeen(control, running.outside.clock);
    const port = await supervisor.start(config.listen.port);
    keeper?.start();
    const ports = { port, adminPort: admin.port };
    return await untilEnded(running, () => {
      edge.out(listeningText(running, ports));
      service.ready();
      reloading.start();
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : error;
    edge.err(`Cannot serve: ${reason}`);
    service.failed(`Cannot serve: ${reason}`);
    return EXIT.failed;
  } finally {
    await keeper?.stop();
    await drains.stop();
    control.stop();
    running.live.close();
    await admin?.stop();
    await service.close();
    reloading.close();
  }
}

function createRunning(
  config: Config,
  { edge, secrets, silentMs, source, spawn }: ServeOptions,
): Running {
  const failures = new RecentFailures(systemClock);
  const workerCount = config.workers === "auto"
    ? navigator.hardwareConcurrency
    : config.workers;
  const logging = startLog(config, { clock: systemClock, edge, workerCount });
  const outside: Outside = {
    clock: systemClock,
    random: Math.random,
    dial: createDial(),
    log: failures.notedBy(logging.log),
  };
  const credentials = secrets?.credentials;
  const control = new Control({ config, credentials, outside, workerCount });
  registerBuild(
    { version: project.version, deno: edge.denoVersion },
    [control.metrics],
  );
  const { buffers } = control.state;
  const startOf = (config: Config, secrets?: Secrets<ApiKey>): WorkerStart => ({
    config,
    buffers,
    secrets: secrets && control.keys.issue(secrets),
    log: logging.take(config),
  });
  const { promise: hung, resolve } = Promise.withResolvers<number>();
  // Threads load their code side by side, and while sessions are restored.
  const early = Array.from({ length: workerCount }, () => spawn());
  const supervisor = new Supervisor<WorkerStart, RoutesData>({
    count: workerCount,
    clock: outside.clock,
    log: outside.log,
    spawn: () => early.shift() ?? spawn(),
    start: startOf(config, secrets),
    lines: logging.lines,
    routes: () => control.directory.routes,
    openCount: (index) => budgetOf(config, buffers, index).ownRequests,
    reclaim: (index) => control.workerDied(index),
    live: (index, calls) => live.report(index, calls),
    hung: resolve,
    silentMs,
  });
  const live = new LiveBook({
    clock: outside.clock,
    workerCount,
    watch: () => supervisor.watch(),
  });
  const parts = { config, outside, control, supervisor, hung };
  const service = serviceReports(edge, parts);
  return {
    ...parts,
    setLogLevel: logging.setLevel,
    workerCount,
    failures,
    live,
    drains: keepDrains({ config, control, edge, outside }),
    keeper: keepSessions({ config, control, edge, outside }),
    service,
    reloading: new Reloading({ ...parts, secrets, service, source, startOf }),
    isStopping: false,
  };
}

function serviceReports(
  edge: Edge,
  { config, control, hung, outside: { clock, log } }: Pick<
    Running,
    "config" | "control" | "hung" | "outside"
  >,
): ServiceReports {
  const budget = budgetOf(config, control.state.buffers, 0);
  let isAlive = true;
  hung.then(() => isAlive = false);
  return new ServiceReports({
    edge,
    clock,
    log,
    pid: Deno.pid,
    facts: () => ({
      ...control.readiness(),
      inFlight: budget.held().requests,
    }),
    isAlive: () => isAlive,
  });
}

function spawnWorker(): Worker {
  return new Worker(new URL("../wiring/worker.ts", import.meta.url), {
    type: "module",
  });
}

/** Says that it serves once a signal would be heard, and not before. */
async function untilEnded(
  running: Running,
  saySo: () => void,
): Promise<number> {
  const { control, hung, outside, reloading, service, supervisor } = running;
  const signals = new SignalQueue(["SIGINT", "SIGTERM"]);
  try {
    saySo();
    const { cause, cutCount } = await untilStopped({
      clock: outside.clock,
      log: outside.log,
      config: {
        get readyGraceMs() {
          return control.config.stop.readyGraceMs;
        },
        get deadlineMs() {
          return control.config.stop.deadlineMs;
        },
      },
      nextSignal: () => signals.next(),
      hung,
      failReadiness: () => {
        running.isStopping = true;
        reloading.stop();
        running.keeper?.end();
        service.stopping();
      },
      workers: supervisor,
    });
    return cause.kind === "signal" && cutCount === 0 ? EXIT.ok : EXIT.failed;
  } finally {
    signals.close();
  }
}
