/**
 * What a checker is.
 *
 * Invariant: a checker looks at the event log and at nothing else, so that a
 * test can hand it a log in which something is wrong.
 *
 * @module
 */
import type { SimulationEvent } from "../events.ts";

/** Says what is wrong in a log, a sentence for each; nothing if all is well. */
export type Checker = (events: readonly SimulationEvent[]) => string[];
