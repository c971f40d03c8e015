/**
 * The list of session-key sources.
 *
 * Invariant: every source parses, none is listed twice, and the order is the
 * order of preference.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import { complain, type Spot } from "./field.ts";

/** Entry that stands for the built-in list, so that it can be extended. */
const DEFAULT = "default";

/** Most sources: each costs a look on every request. */
const SOURCES_MAX = 64;

/**
 * Reads the list; an empty one recognizes no session.
 *
 * @throws {Refusal} when `value` is not a list, or too long a one.
 */
export function readKeys(value: unknown, spot: Spot): readonly string[] {
  if (!Array.isArray(value)) {
    throw new Refusal("must be a list of session-key sources");
  }
  const sources = new Set<string>();
  for (const [index, entry] of value.entries()) {
    if (entry === DEFAULT) {
      for (const source of spot.names.defaultSources) sources.add(source);
      continue;
    }
    const problem = sourceProblem(entry, spot);
    if (problem === undefined) sources.add(String(entry));
    else complain(spot, { at: `[${index}]`, value: entry }, problem);
  }
  if (sources.size > SOURCES_MAX) {
    throw new Refusal(`must name at most ${SOURCES_MAX} sources`);
  }
  return [...sources];
}

/** What is wrong with an entry; `undefined` for nothing. */
function sourceProblem(entry: unknown, { names }: Spot): string | undefined {
  const wanted = "must be a session-key source such as header:x-session-id";
  if (typeof entry !== "string") return wanted;
  try {
    names.parseSource(entry);
    return undefined;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return `${wanted} (${error.message})`;
  }
}
