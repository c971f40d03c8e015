/**
 * Nothing grows above its limit.
 *
 * Invariant: limits stand in the log beside the values, so that none is known
 * here.
 *
 * @module
 */
import { eventsOf, type SimulationEvent } from "../events.ts";

/** Finds values above their limits. */
export function bounds(events: readonly SimulationEvent[]): string[] {
  return eventsOf(events, "gauge")
    .filter(({ value, max }) => value > max)
    .map(({ name, value, max }) => `${name}: ${value}, at most ${max}`);
}
