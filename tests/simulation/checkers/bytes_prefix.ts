/**
 * What a client got is what one engine sent: the whole of it, or a beginning
 * that does not look like the whole.
 *
 * Invariant: an answer is compared with one engine's payload only, which no
 * other payload begins like: see `planned_answer.ts`.
 *
 * @module
 */
import { eventsOf, type SimulationEvent } from "../events.ts";

/** The event that ends a broken stream, behind the end of the one before. */
const ERROR_EVENT = /(?:\n\n)?data: \{"error":\{[^\n]*\}\}\n\n$/;

/** Finds answers that are neither an engine's nor the gateway's own. */
export function bytesPrefix(events: readonly SimulationEvent[]): string[] {
  const problems: string[] = [];
  const sent = Map.groupBy(
    eventsOf(events, "engine_end"),
    ({ request }) => request,
  );
  const answers = new Map(
    eventsOf(events, "answer").map((answer) => [answer.request, answer]),
  );
  for (const { request, how, received } of eventsOf(events, "end")) {
    const answer = answers.get(request);
    if (answer === undefined) continue;
    const report = (what: string) =>
      problems.push(`${request} (${how}) ${what}`);
    if (answer.error !== undefined) {
      if (how === "broken") report("breaks off the gateway's own answer");
      continue;
    }
    const isMarked = how !== "complete" && answer.isEvents;
    if (isMarked && how === "broken" && !ERROR_EVENT.test(received)) {
      report("has no error event");
    }
    const payload = isMarked ? received.replace(ERROR_EVENT, "") : received;
    const source = (sent.get(request) ?? []).find((one) =>
      one.endpoint === answer.endpoint && one.sent.startsWith(payload) &&
      one.status === answer.status
    );
    if (source === undefined) report(`is not what ${answer.endpoint} sent`);
    else if (how !== "complete") continue;
    else if (!source.isWhole || source.sent !== payload) {
      report("looks complete and is not");
    }
  }
  return problems;
}
