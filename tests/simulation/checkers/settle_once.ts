/**
 * Every request is answered once and ends once, and gives everything back.
 *
 * Invariant: what is counted as left at the end of a world is what is wanted,
 * and the gateway never met a state that it did not expect.
 *
 * @module
 */
import { eventsOf, type SimulationEvent } from "../events.ts";

/** Finds requests that end not once, and what is held when all is over. */
export function settleOnce(events: readonly SimulationEvent[]): string[] {
  const problems: string[] = [];
  for (const kind of ["answer", "end"] as const) {
    const counts = new Map<string, number>();
    for (const { request } of eventsOf(events, kind)) {
      counts.set(request, (counts.get(request) ?? 0) + 1);
    }
    for (const { request } of eventsOf(events, "begin")) {
      const count = counts.get(request) ?? 0;
      if (count !== 1) problems.push(`${request} has ${count} times "${kind}"`);
    }
  }
  for (const { name, value, wanted } of eventsOf(events, "left")) {
    if (value !== wanted) problems.push(`${name}: ${value}, want ${wanted}`);
  }
  for (const { request, error } of eventsOf(events, "answer")) {
    if (error === "internal_error") problems.push(`${request}: ${error}`);
  }
  return problems;
}
