/**
 * Parses session-key sources as users write them: `KIND:ARGUMENT`, with an
 * optional `|FILTER` at the end.
 *
 * Invariant: whatever is wrong is said with the text and what is wanted; no
 * source is guessed or passed over.
 *
 * @module
 */
import type { SessionKeySource } from "../core/session_key_source.ts";
import { Register } from "../core/plugin.ts";
import * as filterExports from "./filters.ts";
import * as kindExports from "./mod.ts";

/**
 * Headers that name one request or one trace, in lower case. As session keys
 * they put every turn into a session of its own.
 */
const PER_REQUEST_NAMES: ReadonlySet<string> = new Set([
  "x-request-id",
  "x-correlation-id",
  "x-trace-id",
  "traceparent",
  "request-id",
  "x-client-request-id",
]);

const kinds = new Register("session-key source", { ...kindExports });
const filters = new Register("session-key filter", { ...filterExports });

/**
 * Parses one source, for example `body:metadata.user_id|claude_session`.
 *
 * @throws {TypeError} that says what is wrong and what is known.
 */
export function parseSource(text: string): SessionKeySource {
  const colon = text.indexOf(":");
  if (colon < 1) {
    throw new TypeError(
      `Cannot parse session-key source "${text}": wanted is KIND:ARGUMENT, ` +
        `with a kind of ${kinds.names().join(", ")}`,
    );
  }
  const kind = kinds.get(text.slice(0, colon));
  const bar = text.lastIndexOf("|");
  if (bar < colon) return kind.parse(text.slice(colon + 1));
  const filter = filters.get(text.slice(bar + 1));
  const source = kind.parse(text.slice(colon + 1, bar));
  return {
    ...source,
    name: `${source.name}|${filter.name}`,
    filter: filter.apply,
  };
}

/**
 * Whether a source, as named in `SessionKeySource.name`, asks for an id that
 * changes with every request: worth a warning when somebody configures it.
 */
export function isPerRequestId(name: string): boolean {
  const argument = name.slice(name.indexOf(":") + 1).split("|", 1)[0] ?? "";
  return PER_REQUEST_NAMES.has(argument.toLowerCase());
}
