/**
 * What has changed between two statuses that a person should be told of: it is
 * read aloud, so it is little.
 *
 * Invariant: the same two statuses say the same, and no change says nothing.
 *
 * @module
 */
import type { GatewayStatus } from "../../status.ts";

/** Sentences in one announcement; the table has the rest. */
const TOLD_MAX = 4;

/** In words, what changed; empty when nothing of note did. */
export function changesBetween(
  before: GatewayStatus,
  after: GatewayStatus,
): string {
  const told: string[] = [];
  if (after.startedAtMs !== before.startedAtMs) {
    told.push("The gateway has started anew");
  }
  if (after.version !== before.version) {
    told.push(`It is version ${after.version} now: reload this page`);
  }
  const states = new Map(before.endpoints.map(({ id, state }) => [id, state]));
  for (const { id, state } of after.endpoints) {
    const former = states.get(id);
    states.delete(id);
    if (former === undefined) told.push(`${id} is new and ${state}`);
    else if (former !== state) told.push(`${id} is ${state}, was ${former}`);
  }
  for (const id of states.keys()) told.push(`${id} is gone`);
  if (told.length > TOLD_MAX) {
    told.splice(
      TOLD_MAX,
      told.length,
      `${told.length - TOLD_MAX} more changes`,
    );
  }
  return told.length === 0 ? "" : `${told.join(". ")}.`;
}
