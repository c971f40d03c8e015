/**
 * A gateway in front of simulated engines, over real sockets, in one process.
 *
 * Invariant: when the body of `withWorld` has run, however it ended, every
 * socket and timer of the world is closed, and everything that requests held
 * has been given back; a test that leaves something in flight, a request that
 * was not counted exactly once, or one that went a way through the phases that
 * there is not, fails here.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import {
  type Engine,
  type EngineOptions,
  startEngine,
} from "../../bench/engine/engine.ts";
import type { RequestRecord } from "../../bench/engine/request_log.ts";
import { type InProcess, startInProcess } from "../../src/wiring/in_process.ts";
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import type { ApiKey } from "../../src/core/api_key.ts";
import type { Config } from "../../src/config/config.ts";
import { complaintsText, parseConfig } from "../../src/config/parse.ts";
import type { Log, LogFields } from "../../src/core/outside.ts";
import type { AccessRecord } from "../../src/gateway/access_log.ts";
import type { Secrets } from "../../src/wiring/secrets.ts";
import { assertLegalTrails } from "./phase_trail.ts";

/** How a gateway is set up besides its addresses. */
export interface GatewayOptions {
  /** Configuration besides addresses and endpoints. */
  readonly config?: Record<string, unknown>;
  /** Extra settings by endpoint: `weight`, `max_in_flight`. */
  readonly endpoints?: readonly Record<string, unknown>[];
  /** Leaves the endpoints' ids to their default, the URL. */
  readonly isNameless?: boolean;
  /** API keys of clients, and credentials of endpoints. */
  readonly secrets?: Secrets<ApiKey>;
  /** Endpoints that must be eligible first; all unless given. */
  readonly readyCount?: number;
}

/** What a world is made of. */
export interface WorldOptions extends GatewayOptions {
  /** One entry an engine; ids are `e0`, `e1`, ... */
  readonly engines: readonly EngineOptions[];
}

/** A running gateway. */
export interface GatewayWorld {
  readonly url: string;
  readonly port: number;
  readonly gateway: InProcess;
  /** Log events so far, without those of phases. */
  readonly events: readonly { event: string; fields: LogFields }[];
  /** What the access log has taken so far. */
  readonly records: readonly AccessRecord[];
  /** The log's events of phases so far. */
  readonly phases: readonly LogFields[];
  /** The value of one series of the metrics page, 0 if it is not there. */
  metric(series: string): Promise<number>;
  /** Resolves once nothing is in flight; fails when it takes seconds. */
  idle(): Promise<void>;
}

/** A running gateway and its engines. */
export interface World extends GatewayWorld {
  readonly engines: readonly Engine[];
  /** What reached any engine for this target; fails unless it did once. */
  seen(target: string): RequestRecord;
}

/** Milliseconds within which everything in flight must be given back. */
const SETTLE_MS = 3_000;

/** A fast engine, so that tests wait for nothing. */
const QUICK: EngineOptions = { speed: 1_000 };

/** Runs `body` in a new world. */
export async function withWorld(
  options: WorldOptions,
  body: (world: World) => Promise<void>,
): Promise<void> {
  const engines = await Promise.all(
    options.engines.map((engine, index) =>
      startEngine({ ...QUICK, id: `e${index}`, ...engine })
    ),
  );
  try {
    await withGateway(
      engines,
      options,
      (gateway) =>
        body({
          ...gateway,
          engines,
          seen: (target) => onlyRecord(engines, target),
        }),
    );
  } finally {
    for (const engine of engines) await engine.kill();
  }
}

/** Runs `body` with a gateway in front of whatever listens at `servers`. */
export async function withGateway(
  servers: readonly { readonly url: string }[],
  options: GatewayOptions,
  body: (world: GatewayWorld) => Promise<void>,
): Promise<void> {
  const events: { event: string; fields: LogFields }[] = [];
  const phases: LogFields[] = [];
  const records: AccessRecord[] = [];
  const log: Log = (_level, event, fields = {}) => {
    if (event === "request.phase") phases.push(fields);
    else events.push({ event, fields });
  };
  const gateway = startInProcess(
    configOf(options, servers),
    Object.assign(log, { takesDebug: true }),
    (record) => void records.push(record),
    options.secrets,
  );
  try {
    await gateway.ready(options.readyCount ?? servers.length);
    await body({
      url: gateway.url,
      port: Number(new URL(gateway.url).port),
      gateway,
      events,
      records,
      phases,
      metric: (series) => metricOf(gateway, series),
      idle: () => untilIdle(gateway),
    });
    await untilIdle(gateway);
    assertLegalTrails(phases);
  } finally {
    await gateway.stop();
  }
}

function onlyRecord(
  engines: readonly Engine[],
  target: string,
): RequestRecord {
  const records = engines.flatMap(({ requests }) => requests)
    .filter((record) => record.target === target);
  const [record] = records;
  if (record === undefined || records.length > 1) {
    throw new Error(
      `Cannot tell what reached "${target}": ${records.length} requests did`,
    );
  }
  return record;
}

/** A configuration that listens on a free loopback port. */
export function configOf(
  options: GatewayOptions,
  engines: readonly { readonly url: string }[],
): Config {
  const result = parseConfig({
    listen: "127.0.0.1:0",
    // Questions at any time would be among the requests that tests count.
    engine_metrics: { path: "none" },
    ...options.config,
    endpoints: engines.map(({ url }, index) => ({
      url,
      ...(options.isNameless === true ? {} : { id: `e${index}` }),
      ...options.endpoints?.[index],
    })),
  }, { names: LOAD_NAMES, overrides: [] });
  if (result.kind === "refused") {
    throw new Error(complaintsText(result.complaints));
  }
  return result.config;
}

async function metricOf(gateway: InProcess, series: string): Promise<number> {
  const page = await gateway.control.metrics.metrics();
  const line = page.split("\n").find((line) => line.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

/** Requests received, and requests counted by their outcome. */
async function countsOf(
  gateway: InProcess,
): Promise<{ readonly received: number; readonly ended: number }> {
  const page = await gateway.control.metrics.metrics();
  let ended = 0;
  for (const [, count] of page.matchAll(/^tryst_requests_total\S* (\d+)$/gm)) {
    ended += Number(count);
  }
  return {
    received: await metricOf(gateway, "tryst_requests_received_total"),
    ended,
  };
}

/**
 * Nothing may be in flight once clients have their answers or have left, and
 * each request has ended once.
 */
async function untilIdle(gateway: InProcess): Promise<void> {
  const inFlight = () =>
    gateway.control.endpoints().map(({ id, inFlight }) => `${id}: ${inFlight}`);
  const idle = inFlight().map((line) => line.replace(/\d+$/, "0"));
  const deadline = Date.now() + SETTLE_MS;
  for (;;) {
    const { received, ended } = await countsOf(gateway);
    const isIdle = inFlight().join() === idle.join() && received === ended;
    if (isIdle || Date.now() >= deadline) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assertEquals(inFlight(), idle, "something is still in flight");
  const { received, ended } = await countsOf(gateway);
  assertEquals(ended, received, "requests ended are not requests received");
}
