/**
 * Engines die one after the other under a load that may be replayed.
 *
 * The engines run in this process, so that what has reached one is known when
 * it dies.
 *
 * Invariant: an engine takes requests again before the next one dies.
 *
 * @module
 */
import { type Engine, startEngine } from "../engine/engine.ts";
import { openLoop, type Outcome } from "./open_loop.ts";
import { freePort } from "./processes.ts";
import { startGateway } from "./programs.ts";
import { requestText } from "./wire.ts";

const ENGINES = 4;
const REQUESTS_PER_SECOND = 200;

/** Each of some engines dies in turn, and comes back after a while. */
const DEATHS = 3;
const DOWN_MS = 2_500;
const UP_MS = 2_500;

/** Time in the engine, so that some requests are in it when it dies. */
const ENGINE_MS = 20;

/** More requests than one engine gets in a run. */
const RECORDS_MAX = 10_000;

/** What came of a run. */
export interface Failover {
  readonly deaths: number;
  readonly requests: number;
  readonly failed: number;
  /** Of these, the ones whose head the dead engine had read. */
  readonly reached: number;
  /** GETs that failed, which may be replayed even then. */
  readonly failedGets: number;
  /** POSTs that more than one engine has read, or one twice. */
  readonly doubled: number;
  /** Requests that took more than one attempt and succeeded. */
  readonly saved: number;
}

/** Measures once. */
export async function measureFailover(
  binary: string | undefined,
): Promise<Failover> {
  await using stack = new AsyncDisposableStack();
  const ports = Array.from({ length: ENGINES }, freePort);
  const engines: Engine[] = [];
  for (const port of ports) engines.push(stack.use(await start(port)));
  const gateway = stack.use(
    await startGateway({
      binary,
      workers: 2,
      config: [
        "endpoints:",
        ...ports.map((port) => `  - http://127.0.0.1:${port}`),
      ],
    }),
  );
  const load = openLoop({
    port: gateway.port,
    requestsPerSecond: REQUESTS_PER_SECOND,
    seconds: DEATHS * (DOWN_MS + UP_MS) / 1_000,
    connections: 64,
    request: requestOf,
  });
  const seen = [...engines];
  for (const port of ports.slice(0, DEATHS)) {
    await pause(UP_MS / 2);
    await seen.find((engine) => engine.port === port)?.kill();
    await pause(DOWN_MS);
    seen.push(stack.use(await start(port)));
    await pause(UP_MS / 2);
  }
  return judge(await load, seen);
}

function start(port: number): Promise<Engine> {
  return startEngine({ port, recordsMax: RECORDS_MAX, fixedAnswer: "{}" })
    .then((engine) => {
      engine.faults.set({ firstByteDelayMs: ENGINE_MS });
      return engine;
    });
}

/** Half are GETs; every fourth request has no session. */
function requestOf(n: number): string {
  const lines = [
    `x-request-id: failover-${n}`,
    ...n % 4 === 0 ? [] : [`x-session-id: session-${n % 97}`],
  ];
  return n % 2 === 0
    ? requestText("GET", "/echo", { lines })
    : requestText("POST", "/v1/chat/completions", { lines, body: "{}" });
}

function judge(outcomes: readonly Outcome[], engines: Engine[]): Failover {
  const posts = new Map<string, number>();
  for (const { method, headers } of engines.flatMap((it) => it.requests)) {
    const id = headers.get("x-request-id");
    if (id === undefined || method !== "POST") continue;
    posts.set(id, (posts.get(id) ?? 0) + 1);
  }
  const failed = outcomes.filter(({ answer }) => answer?.status !== 200);
  return {
    deaths: DEATHS,
    requests: outcomes.length,
    failed: failed.length,
    reached: failed.filter(({ n }) => posts.has(`failover-${n}`)).length,
    failedGets: failed.filter(({ n }) => n % 2 === 0).length,
    doubled: [...posts.values()].filter((count) => count > 1).length,
    saved:
      outcomes.filter(({ answer }) =>
        answer?.status === 200 && /x-tryst-attempts: [2-9]/.test(answer.head)
      ).length,
  };
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
