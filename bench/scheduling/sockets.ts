/**
 * The experiment's order once more over real sockets: a whole gateway in this
 * process, simulated engines that take their time, and programs over HTTP.
 *
 * Invariant: both sides play the same programs; they differ in configuration
 * alone, and the plain balancer is the gateway without sessions and queue.
 *
 * @module
 */
import { type Engine, startEngine } from "../engine/engine.ts";
import { saturatingRate } from "../../src/simulate/calibration.ts";
import { ENGINE_MODEL } from "../../src/simulate/engines.ts";
import { drawPrograms, type Program } from "../../src/simulate/programs.ts";
import { startInProcess } from "../../src/wiring/in_process.ts";
import { configOf, queueDefaults } from "./defaults.ts";
import { playOverHttp } from "./http_player.ts";

/** One side, measured. */
export interface SocketsRow {
  readonly contender: string;
  /** Mean response of programs, in milliseconds of the simulation. */
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly cacheHits: number;
}

/** What to play. */
export interface SocketsOptions {
  readonly workload: string;
  readonly programCount: number;
  readonly seed: number;
  /** Divides all times. */
  readonly speed: number;
}

const ENGINE_COUNT = 2;
const LOAD = 0.9;

/** Small, so that few programs suffice for calls to wait. */
const MODEL = { ...ENGINE_MODEL, batchMax: 8, cacheBlocks: 4_096 };

/** No side takes longer, in milliseconds. */
const WITHIN_MS = 300_000;

/** What the sides configure; only those with a queue say their sessions. */
const SIDES: readonly (readonly [string, boolean, object])[] = [
  ["round_robin", false, {
    session: { fallback: "round_robin" },
    routing: { policy: "round_robin" },
  }],
  ["fcfs", true, { queue: { policy: "fcfs" } }],
  ["critical_path", true, { queue: { policy: "critical_path" } }],
  ["las", true, { queue: { policy: "las" } }],
];

/** Measures all sides, one after the other. */
export async function measureSockets(
  options: SocketsOptions,
): Promise<readonly SocketsRow[]> {
  const programs = programsOf(options);
  const rows: SocketsRow[] = [];
  for (const [contender, hasQueue, document] of SIDES) {
    rows.push(
      await measureSide({ contender, document, hasQueue }, {
        programs,
        speed: options.speed,
      }),
    );
  }
  return rows;
}

async function measureSide(
  side: {
    readonly contender: string;
    readonly document: object;
    readonly hasQueue: boolean;
  },
  { programs, speed }: {
    readonly programs: readonly Program[];
    readonly speed: number;
  },
): Promise<SocketsRow> {
  const started = Array.from(
    { length: ENGINE_COUNT },
    (_, at) => startEngine({ ...MODEL, speed, id: `engine-${at}` }),
  );
  const engines: Engine[] = await Promise.all(started);
  try {
    const config = configOf({
      ...side.document,
      ...(side.hasQueue ? scaledQueue(side.document, speed) : {}),
      listen: "127.0.0.1:0",
      endpoints: engines.map(({ id, url }) => ({
        id,
        url,
        ...(side.hasQueue ? { "max_in_flight": MODEL.batchMax } : {}),
      })),
    });
    await using gateway = startInProcess(config, () => {});
    await gateway.ready(ENGINE_COUNT);
    const played = await playOverHttp({
      programs,
      baseUrl: gateway.url,
      speed,
      hasSession: side.hasQueue,
      signal: AbortSignal.timeout(WITHIN_MS),
    });
    return rowOf(side.contender, played);
  } finally {
    await Promise.all(engines.map((engine) => engine.stop()));
  }
}

/** The waits of the defaults, in the time of the engines. */
function scaledQueue(document: object, speed: number) {
  const { overdueMs, patienceMs, timeoutMs } = queueDefaults(MODEL.batchMax);
  const scaled = (ms: number) => `${Math.max(1, Math.round(ms / speed))}ms`;
  const queue = "queue" in document ? document.queue : {};
  return {
    queue: Object.assign({ overdue: scaled(overdueMs) }, queue),
    timeouts: { queue: scaled(timeoutMs) },
    routing: { "affinity_patience": scaled(patienceMs) },
  };
}

function rowOf(
  contender: string,
  { cachedTokens, promptTokens, responsesMs }: {
    readonly responsesMs: readonly number[];
    readonly promptTokens: number;
    readonly cachedTokens: number;
  },
): SocketsRow {
  const sorted = responsesMs.toSorted((one, other) => one - other);
  const sum = sorted.reduce((total, ms) => total + ms, 0);
  return {
    contender,
    meanMs: sum / sorted.length,
    p50Ms: sorted[Math.floor(sorted.length / 2)] ?? NaN,
    cacheHits: cachedTokens / promptTokens,
  };
}

function programsOf(options: SocketsOptions): readonly Program[] {
  const { programCount, seed, workload } = options;
  const drawn = { workload, programCount, seed };
  const rate = ENGINE_COUNT * saturatingRate({
    programs: drawPrograms({ ...drawn, programsPerSecond: Infinity }),
    model: MODEL,
    queue: queueDefaults(MODEL.batchMax),
    seed,
  });
  return drawPrograms({ ...drawn, programsPerSecond: LOAD * rate });
}
