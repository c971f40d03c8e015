/**
 * `cookie:NAME`: the session key is the value of a cookie (RFC 6265).
 *
 * Invariant: what is not a cookie pair is passed over; a broken `Cookie`
 * header hides no good pair in it and never throws.
 *
 * @module
 */
import type { SessionKeyKind } from "../core/session_key_source.ts";
import { isBlank, latin1Bytes } from "../core/bytes.ts";

/** What a cookie name may not hold here: blanks, `;`, `=` and controls. */
// deno-lint-ignore no-control-regex -- Controls are what it refuses.
const NOT_IN_NAME = /[\s;=\u0000-\u001f\u007f]/;
const QUOTED = /^"(.*)"$/s;

/** Builds `cookie:` sources; names are case-sensitive. */
export const cookieKind: SessionKeyKind = {
  name: "cookie",
  summary: "cookie:NAME, the value of a cookie, without double quotes",
  parse(argument) {
    if (argument === "" || NOT_IN_NAME.test(argument)) {
      throw new TypeError(
        `Cannot use "${argument}" as a cookie name: wanted is a name ` +
          "without blanks, semicolons and equals signs",
      );
    }
    return {
      name: `cookie:${argument}`,
      kind: "head",
      find(head) {
        for (const [name, value] of head.headers) {
          if (name !== "cookie") continue;
          const bytes = cookieValue(value, argument);
          if (bytes !== undefined) return bytes;
        }
        return undefined;
      },
    };
  },
};

/** The first value of that name in a `Cookie` header that is not blank. */
function cookieValue(header: string, name: string): Uint8Array | undefined {
  if (!header.includes(name)) return undefined;
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=");
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue;
    const value = pair.slice(equals + 1).trim().replace(QUOTED, "$1");
    const bytes = latin1Bytes(value);
    if (!isBlank(bytes)) return bytes;
  }
  return undefined;
}
