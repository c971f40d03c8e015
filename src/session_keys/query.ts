/**
 * `query:NAME`: the session key is a parameter of the query.
 *
 * Invariant: names and values are compared decoded, so that `a%20b`, `a+b`
 * and `a b` in a body are the same session.
 *
 * @module
 */
import type { SessionKeyKind } from "../core/session_key_source.ts";
import { isBlank } from "../core/bytes.ts";
import { percentDecode } from "./percent.ts";

const FORM = { plusIsSpace: true } as const;

/** Builds `query:` sources; names are case-sensitive. */
export const queryKind: SessionKeyKind = {
  name: "query",
  summary: "query:NAME, a parameter of the query, percent-decoded",
  parse(argument) {
    if (argument.trim() === "") {
      throw new TypeError(
        `Cannot use "${argument}" as the name of a query parameter: wanted ` +
          "is a name that is not blank",
      );
    }
    const wanted = new TextEncoder().encode(argument);
    return {
      name: `query:${argument}`,
      kind: "head",
      find(head) {
        const mark = head.target.indexOf("?");
        if (mark < 0) return undefined;
        return parameter(head.target.slice(mark + 1), wanted);
      },
    };
  },
};

/** The first value of that name which is not blank. */
function parameter(query: string, wanted: Uint8Array): Uint8Array | undefined {
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    if (equals < 0) continue;
    if (!isEqual(percentDecode(pair.slice(0, equals), FORM), wanted)) continue;
    const value = percentDecode(pair.slice(equals + 1), FORM);
    if (!isBlank(value)) return value;
  }
  return undefined;
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
