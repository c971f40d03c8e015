/**
 * A whole gateway within this process, without worker threads: for the demo
 * and for tests. Any number of them can run side by side.
 *
 * Invariant: when it has been stopped, nothing of it is left open.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { collectorOf } from "../config/tracing.ts";
import type { ApiKey } from "../core/api_key.ts";
import type { Log } from "../core/outside.ts";
import type { AccessSink } from "../gateway/access_log.ts";
import { systemClock } from "../system/clock.ts";
import { createDial } from "../system/dial.ts";
import { inflate } from "../system/inflate.ts";
import { SpanExporter } from "../system/tracing.ts";
import { assembleGateway, type Assembly } from "./assembly.ts";
import { Control } from "./control.ts";
import { Front } from "./front.ts";
import type { Secrets } from "./secrets.ts";

/** Milliseconds that open answers get when the gateway stops. */
const STOP_MS = 1_000;

/** A running gateway. */
export interface InProcess extends AsyncDisposable {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Where plain HTTP is sent on; `undefined` for nowhere. */
  readonly redirectPort: number | undefined;
  readonly control: Control;
  readonly assembly: Assembly;
  /** Resolves once `count` endpoints take work. */
  ready(count: number): Promise<void>;
  /**
   * Takes a new configuration; addresses and sizes stay as they are.
   *
   * @throws {RangeError} when there is no room for its endpoints; then nothing
   * has changed.
   */
  reload(config: Config): void;
  /** Takes other API keys and credentials; requests under way keep theirs. */
  replaceKeys(secrets: Secrets<ApiKey>): void;
  stop(): Promise<void>;
}

/**
 * Starts a gateway; `config.workers` does not matter.
 *
 * @param access Takes a record of each request, as far as `log` wants them.
 * @param secrets None if absent: clients need no API key.
 */
export function startInProcess(
  config: Config,
  log: Log,
  access?: AccessSink,
  secrets?: Secrets<ApiKey>,
): InProcess {
  const outside = {
    clock: systemClock,
    random: Math.random,
    dial: createDial(),
    log,
  };
  const control = new Control({
    config,
    outside,
    workerCount: 1,
    credentials: secrets?.credentials,
  });
  control.start();
  const collector = collectorOf(config.tracing);
  const exporter = collector && new SpanExporter({ outside, collector });
  const assembly = assembleGateway({
    config,
    buffers: control.state.buffers,
    index: 0,
    routes: control.directory.routes,
    outside,
    inflate,
    secrets: secrets && control.keys.issue(secrets),
    access,
    spans: exporter && ((span) => exporter.add(span)),
  });
  control.onRoutes((routes) => assembly.reroute(routes));
  const front = new Front({
    config,
    clock: systemClock,
    log,
    port: config.listen.port,
    reusePort: false,
    handle: (request) => assembly.handle(request),
  });
  const scheme = config.tls.certFile === undefined ? "http" : "https";
  async function stop(): Promise<void> {
    control.stop();
    assembly.stopTunnels();
    await front.stop(STOP_MS);
    assembly.close();
    await exporter?.close();
  }
  return {
    url: `${scheme}://${front.hostname}:${front.port}`,
    redirectPort: front.redirectPort,
    control,
    assembly,
    ready: (count) => untilReady(control, count),
    reload: (config) => assembly.reload(config, control.reload(config)),
    replaceKeys(secrets) {
      assembly.replaceKeys(control.keys.issue(secrets));
      control.reload(control.config, secrets.credentials);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Looks again every few milliseconds; its callers bound the wait. */
async function untilReady(control: Control, count: number): Promise<void> {
  while (control.readiness().eligible < count) {
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
  }
}
