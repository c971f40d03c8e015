/**
 * A gateway in front of simulated engines, over real sockets, in one process.
 *
 * Invariant: when the body of `withWorld` has run, however it ended, every
 * socket and timer of the world is closed, and everything that requests held
 * has been given back; a test that leaves something in flight fails here.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import {
  type Engine,
  type EngineOptions,
  startEngine,
} from "../../bench/engine/engine.ts";
import { type InProcess, startInProcess } from "../../src/cli/in_process.ts";
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import type { Config } from "../../src/config/config.ts";
import { complaintsText, parseConfig } from "../../src/config/parse.ts";
import type { LogFields } from "../../src/core/outside.ts";

/** What a world is made of. */
export interface WorldOptions {
  /** One entry an engine; ids are `e0`, `e1`, ... */
  readonly engines: readonly EngineOptions[];
  /** Configuration besides addresses and endpoints. */
  readonly config?: Record<string, unknown>;
  /** Extra settings by endpoint: `weight`, `max_in_flight`. */
  readonly endpoints?: readonly Record<string, unknown>[];
}

/** A running world. */
export interface World {
  readonly url: string;
  readonly port: number;
  readonly engines: readonly Engine[];
  readonly gateway: InProcess;
  /** Log events so far. */
  readonly events: readonly { event: string; fields: LogFields }[];
  /** The value of one series of the metrics page, 0 if it is not there. */
  metric(series: string): Promise<number>;
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
  const events: { event: string; fields: LogFields }[] = [];
  const gateway = startInProcess(
    configOf(options, engines),
    (_level, event, fields = {}) => events.push({ event, fields }),
  );
  try {
    await gateway.ready(engines.length);
    await body({
      url: gateway.url,
      port: Number(new URL(gateway.url).port),
      engines,
      gateway,
      events,
      metric: (series) => metricOf(gateway, series),
    });
    await untilIdle(gateway);
  } finally {
    await gateway.stop();
    for (const engine of engines) await engine.kill();
  }
}

/** A configuration that listens on a free loopback port. */
export function configOf(
  options: WorldOptions,
  engines: readonly { readonly url: string }[],
): Config {
  const result = parseConfig({
    listen: "127.0.0.1:0",
    ...options.config,
    endpoints: engines.map(({ url }, index) => ({
      url,
      id: `e${index}`,
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

/** Nothing may be in flight once clients have their answers or have left. */
async function untilIdle(gateway: InProcess): Promise<void> {
  const inFlight = () =>
    gateway.control.endpoints().map(({ id, inFlight }) => `${id}: ${inFlight}`);
  const idle = inFlight().map((line) => line.replace(/\d+$/, "0"));
  const deadline = Date.now() + SETTLE_MS;
  while (inFlight().join() !== idle.join() && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assertEquals(inFlight(), idle, "something is still in flight");
}
