/**
 * The same seed twice gives the same event log, byte for byte.
 *
 * Invariant: what differs is told by its first line, since all that follows
 * from it differs too.
 *
 * @module
 */
import { runWorld, type WorldOptions } from "./world.ts";

/** Lets a world happen twice and says where the two part; nothing if never. */
export async function determinism(options: WorldOptions): Promise<string[]> {
  const one = linesOf(await runWorld(options));
  const other = linesOf(await runWorld(options));
  const at = one.findIndex((line, index) => line !== other[index]);
  if (at < 0 && one.length === other.length) return [];
  return [
    `determinism: event ${at} is ${one[at]} and then ${other[at]}`,
  ];
}

function linesOf(events: readonly unknown[]): string[] {
  return events.map((event) => JSON.stringify(event));
}
