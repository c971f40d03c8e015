/**
 * One seed, checked.
 *
 * Invariant: equal seeds are judged equally; a problem names its checker.
 *
 * @module
 */
import * as checkers from "./checkers/mod.ts";
import type { SimulationEvent } from "./events.ts";
import { runWorld, type WorldOptions } from "./world.ts";

/** What is wrong in a log, by all checkers. */
export function problemsOf(events: readonly SimulationEvent[]): string[] {
  return Object.entries(checkers).flatMap(([name, check]) =>
    check(events).map((problem) => `${name}: ${problem}`)
  );
}

/** Lets a world happen and says what is wrong in it. */
export async function checkWorld(options: WorldOptions): Promise<string[]> {
  return problemsOf(await runWorld(options));
}
