/**
 * Whether the model tells the truth: the same programs on the virtual clock and
 * over HTTP, against the simulated engine that really takes its time.
 *
 * One engine with a small batch, at a load at which calls wait: what is
 * compared is queueing, prefill, decoding and the cache all at once.
 *
 * Invariant: both sides are given the same plan; nothing is fitted.
 *
 * @module
 */
import { startEngine } from "../engine/engine.ts";
import { saturatingRate } from "../../src/simulate/calibration.ts";
import { contenderOf } from "../../src/simulate/contenders.ts";
import { ENGINE_MODEL } from "../../src/simulate/engines.ts";
import { quantile } from "../../src/simulate/figures.ts";
import { drawPrograms, type Program } from "../../src/simulate/programs.ts";
import { Simulation } from "../../src/simulate/simulation.ts";
import { queueDefaults } from "./defaults.ts";
import { playOverHttp } from "./http_player.ts";

/** One quantity on both sides. */
export interface Comparison {
  readonly name: string;
  readonly simulated: number;
  readonly measured: number;
}

/** What to validate with. */
export interface ValidationOptions {
  readonly workload: string;
  readonly programCount: number;
  readonly seed: number;
  /** Divides all times of the measured side. */
  readonly speed: number;
}

const LOAD = 0.85;

/** Small, so that few programs suffice for calls to wait. */
const MODEL = { ...ENGINE_MODEL, batchMax: 8, cacheBlocks: 4_096 };

/** No validation takes longer, in milliseconds. */
const WITHIN_MS = 300_000;

/** Runs both sides. */
export async function validate(
  options: ValidationOptions,
): Promise<readonly Comparison[]> {
  const programs = programsOf(options);
  const simulated: number[] = [];
  const simulation = new Simulation({
    programs,
    contender: contenderOf("sticky"),
    engineCount: 1,
    model: MODEL,
    queue: queueDefaults(MODEL.batchMax),
    seed: options.seed,
    onProgram: ({ responseMs }) => simulated.push(responseMs),
  });
  const { cacheHits } = simulation.run();
  const { speed } = options;
  await using engine = await startEngine({ ...MODEL, speed });
  const measured = await playOverHttp({
    programs,
    baseUrl: engine.url,
    speed,
    hasSession: true,
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const sides = [simulated, measured.responsesMs].map((responses) =>
    responses.toSorted((one, other) => one - other)
  );
  const [ours = [], theirs = []] = sides;
  return [
    {
      name: "mean response, ms",
      simulated: meanOf(ours),
      measured: meanOf(theirs),
    },
    ...[0.5, 0.95].map((share) => ({
      name: `p${100 * share} response, ms`,
      simulated: quantile(ours, share),
      measured: quantile(theirs, share),
    })),
    {
      name: "cache hits, share",
      simulated: cacheHits,
      measured: measured.cachedTokens / measured.promptTokens,
    },
  ];
}

function programsOf(options: ValidationOptions): readonly Program[] {
  const { programCount, seed, workload } = options;
  const drawn = { workload, programCount, seed };
  const rate = saturatingRate({
    programs: drawPrograms({ ...drawn, programsPerSecond: Infinity }),
    model: MODEL,
    queue: queueDefaults(MODEL.batchMax),
    seed,
  });
  return drawPrograms({ ...drawn, programsPerSecond: LOAD * rate });
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
