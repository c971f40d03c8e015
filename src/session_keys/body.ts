/**
 * `body:a.b.c`: the session key is a member of the JSON body.
 *
 * Invariant: only members of objects from the root on count, never what an
 * array or a string holds: a prompt cannot name a session.
 *
 * @module
 */
import type { SessionKeyKind } from "../core/session_key_source.ts";
import { SESSION_KEY_BYTES_MAX } from "../core/session_key.ts";

/** Builds `body:` sources; names are case-sensitive and hold no dot. */
export const bodyKind: SessionKeyKind = {
  name: "body",
  summary: "body:NAME.NAME, a member of the JSON body from its root",
  parse(argument) {
    const path = argument.split(".");
    if (path.some((name) => name.trim() === "")) {
      throw new TypeError(
        `Cannot use "${argument}" as a body member: wanted are names ` +
          "separated by single dots",
      );
    }
    const size = new TextEncoder().encode(argument).length;
    if (size > SESSION_KEY_BYTES_MAX) {
      throw new TypeError(
        `Cannot use a body member of more than ${SESSION_KEY_BYTES_MAX} ` +
          `bytes: current size is ${size}`,
      );
    }
    return { name: `body:${argument}`, kind: "body", path };
  },
};
