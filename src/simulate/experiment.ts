/**
 * The experiment: every contender at every load, on the same programs.
 *
 * Invariant: within one seed, contenders and loads differ in nothing but what
 * their row names, and rows come in the order of loads, then contenders.
 *
 * @module
 */
import { saturatingRate } from "./calibration.ts";
import type { Contender } from "./contenders.ts";
import type { EngineModel } from "./engines.ts";
import type { Figures } from "./figures.ts";
import { drawPrograms } from "./programs.ts";
import { Simulation } from "./simulation.ts";
import type { QueueSettings } from "./virtual_gateway.ts";

/** What to measure. */
export interface ExperimentOptions {
  /** One of `WORKLOADS`. */
  readonly workload: string;
  readonly engineCount: number;
  /** Programs for each engine. */
  readonly programCount: number;
  /** In relation to what the engines can do at most: see `calibration.ts`. */
  readonly loads: readonly number[];
  readonly contenders: readonly Contender[];
  readonly model: EngineModel;
  readonly queue: QueueSettings;
  readonly seed: number;
}

/** One contender at one load. */
export interface ExperimentRow {
  readonly workload: string;
  readonly engineCount: number;
  readonly seed: number;
  readonly load: number;
  /** Programs a second that arrive. */
  readonly offered: number;
  readonly contender: string;
  readonly figures: Figures;
}

/**
 * Programs that the calibration runs over and over: enough for a steady middle,
 * and a fraction of the experiment.
 */
const CALIBRATION_PROGRAMS_MAX = 300;

/** Measures, and yields each row as soon as it is known. */
export function* runExperiment(
  options: ExperimentOptions,
): Generator<ExperimentRow, void, undefined> {
  const { contenders, engineCount, loads, model, queue, seed, workload } =
    options;
  const programCount = options.programCount * engineCount;
  const calibrated = drawPrograms({
    workload,
    seed,
    programCount: Math.min(options.programCount, CALIBRATION_PROGRAMS_MAX),
    programsPerSecond: Infinity,
  });
  const rate = engineCount *
    saturatingRate({ programs: calibrated, model, queue, seed });
  for (const load of loads) {
    const offered = load * rate;
    const programs = drawPrograms({
      workload,
      seed,
      programCount,
      programsPerSecond: offered,
    });
    for (const contender of contenders) {
      const figures = new Simulation({
        programs,
        contender,
        engineCount,
        model,
        queue,
        seed,
      }).run();
      yield {
        workload,
        engineCount,
        seed,
        load,
        offered,
        contender: contender.name,
        figures,
      };
    }
  }
}
