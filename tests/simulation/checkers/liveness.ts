/**
 * Once nothing goes wrong any more, everything comes to an end and everybody
 * is served.
 *
 * Invariant: only what begins after all faults has to succeed.
 *
 * @module
 */
import { eventsOf, type SimulationEvent } from "../events.ts";

/** Finds requests that never end, end late, or fail without a reason. */
export function liveness(events: readonly SimulationEvent[]): string[] {
  const problems: string[] = [];
  const [world] = eventsOf(events, "world");
  const [over] = eventsOf(events, "faults_over");
  if (world === undefined || over === undefined) return ["faults never end"];
  const ends = new Map(
    eventsOf(events, "end").map((end) => [end.request, end]),
  );
  const statuses = new Map(
    eventsOf(events, "answer").map(({ request, status }) => [request, status]),
  );
  for (const { request, isProof } of eventsOf(events, "begin")) {
    const end = ends.get(request);
    if (end === undefined) problems.push(`${request} never ends`);
    else if (!isProof && end.atMs > over.atMs + world.livenessMs) {
      problems.push(`${request} ends ${end.atMs - over.atMs} ms after faults`);
    } else if (
      isProof && !(end.how === "complete" && statuses.get(request) === 200)
    ) {
      const status = statuses.get(request);
      problems.push(`${request}, after all faults: ${status}, ${end.how}`);
    }
  }
  return problems;
}
