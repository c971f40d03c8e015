/**
 * `header:NAME`: the session key is the value of a header.
 *
 * Invariant: a header that is present but blank is absent, so that clients
 * that send an empty one do not all share a session.
 *
 * @module
 */
import type { SessionKeyKind } from "../core/session_key_source.ts";
import { isBlank, latin1Bytes } from "../core/bytes.ts";

/** A field name is a token (RFC 9110, sections 5.1 and 5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Builds `header:` sources; names are case-insensitive. */
export const headerKind: SessionKeyKind = {
  name: "header",
  summary: "header:NAME, the value of a request header",
  parse(argument) {
    if (!TOKEN.test(argument)) {
      throw new TypeError(
        `Cannot use "${argument}" as a header name: wanted are letters, ` +
          "digits and !#$%&'*+-.^_`|~",
      );
    }
    const header = argument.toLowerCase();
    return {
      name: `header:${header}`,
      kind: "head",
      header,
      find(head) {
        for (const [name, value] of head.headers) {
          if (name !== header) continue;
          const bytes = latin1Bytes(value);
          if (!isBlank(bytes)) return bytes;
        }
        return undefined;
      },
    };
  },
};
