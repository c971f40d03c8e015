/**
 * A worker thread: one gateway behind one listening socket.
 *
 * Invariant: it acts on commands of the main thread only, and an error that
 * nobody expected ends the thread, so that the supervisor replaces it.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { collectorOf } from "../config/tracing.ts";
import { LoopLags } from "../core/counting/loop_lag.ts";
import type { RoutesData } from "../gateway/routes.ts";
import {
  HEARTBEAT_MS,
  type WorkerCommand,
  type WorkerReport,
} from "../server/worker_messages.ts";
import { listenTo } from "../system/bell.ts";
import { systemClock } from "../system/clock.ts";
import { createDial } from "../system/dial.ts";
import { inflate } from "../system/inflate.ts";
import { watchLoop } from "../system/loop_watch.ts";
import { SpanExporter } from "../system/tracing.ts";
import { assembleGateway, type Assembly } from "./assembly.ts";
import { Front } from "./front.ts";
import { LIVE } from "./live_book.ts";
import type { Secrets } from "./secrets.ts";
import type { SharedBuffers } from "./shared_state.ts";
import { type LogStart, ThreadLog } from "./thread_log.ts";

/** What a worker is started with. */
export interface WorkerStart {
  readonly config: Config;
  readonly buffers: SharedBuffers;
  readonly secrets?: Secrets | undefined;
  /** Without it, requests get no lines and debug events are not taken. */
  readonly log?: LogStart;
}

/** The main thread keeps the deadline, by ending this thread. */
const NO_DEADLINE_MS = 2 ** 31 - 1;

type Command = WorkerCommand<WorkerStart, RoutesData>;

/** The global scope of a worker, of which the compiler knows nothing here. */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<Command>) => void;
  postMessage(report: WorkerReport): void;
};

const threadLog = new ThreadLog(systemClock, (report) => {
  scope.postMessage(report);
});
const { log } = threadLog;

let assembly: Assembly | undefined;
let exporter: SpanExporter | undefined;
let front: Front | undefined;
let watchedUntilMs = 0;
let cancelTelling: (() => void) | undefined;

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case "start":
      start(data);
      break;
    case "routes":
      assembly?.reroute(data.routes);
      break;
    case "reload":
      assembly?.reload(data.start.config, data.routes, data.start.secrets);
      break;
    case "watch":
      watchedUntilMs = systemClock.nowMs() + LIVE.watchMs;
      tellLive();
      break;
    case "leave":
      front?.leave();
      break;
    case "stop":
      stop();
      break;
    case "give_up":
      assembly?.close();
      break;
  }
};

// A promise that nobody waits for is no reason to end: it belongs to a request
// whose client or engine is gone already (denoland/deno #28632).
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  log("error", "worker.unhandled_rejection", { reason: String(event.reason) });
});

function start(command: Command & { kind: "start" }): void {
  const { config, buffers } = command.start;
  const outside = {
    clock: systemClock,
    random: Math.random,
    dial: createDial(),
    log,
  };
  if (command.start.log) threadLog.attach(command.start.log, command.index);
  const collector = collectorOf(config.tracing);
  exporter = collector && new SpanExporter({ outside, collector });
  assembly = assembleGateway({
    config,
    buffers,
    secrets: command.start.secrets,
    index: command.index,
    routes: command.routes,
    outside,
    inflate,
    access: (record) => threadLog.access(record),
    spans: exporter && ((span) => exporter?.add(span)),
  });
  const started = assembly;
  const { admission, bell } = started;
  listenTo(bell, () => admission.collect());
  try {
    front = new Front({
      config,
      clock: systemClock,
      log,
      port: command.port,
      reusePort: true,
      handle: (request) => started.handle(request),
    });
    scope.postMessage({ kind: "listening", port: front.port });
    beat();
    watchLoop(systemClock, new LoopLags(buffers.lags), command.index);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    scope.postMessage({ kind: "failed", message });
  }
}

/** Says that the event loop turns, and again later. */
function beat(): void {
  scope.postMessage({ kind: "alive" });
  systemClock.after(HEARTBEAT_MS, beat);
}

/** Tells of the requests under way, now and while somebody looks. */
function tellLive(): void {
  cancelTelling?.();
  scope.postMessage({
    kind: "live",
    calls: assembly?.live(LIVE.countMax) ?? [],
  });
  if (systemClock.nowMs() >= watchedUntilMs) return;
  cancelTelling = systemClock.after(LIVE.reportMs, tellLive);
}

/** Leaves engines their connections: some finish for a client that has left. */
async function stop(): Promise<void> {
  assembly?.stopTunnels();
  const brokenCount = await front?.stop(NO_DEADLINE_MS) ?? 0;
  threadLog.close();
  await exporter?.close();
  scope.postMessage({ kind: "stopped", brokenCount });
}
