/**
 * `|claude_session`: the session inside Anthropic's `metadata.user_id` as
 * Claude Code fills it.
 *
 * Since 2.1.78 the value is a JSON object in a string, with a member
 * `session_id`; before, it was `user_HASH_account_UUID_session_UUID` with the
 * account possibly empty. Its beginning names the device, which is why a
 * prefix of it must never serve as the key.
 *
 * Invariant: a value of neither form holds no session; an application that
 * fills the member with its user's id is not taken for one long session.
 *
 * @module
 */
import type { NamedFilter } from "../core/session_key_source.ts";

const LEGACY =
  /^user_[0-9A-Za-z]+_account_[0-9A-Za-z-]*_session_([0-9A-Za-z-]+)$/;
const ENCODER = new TextEncoder();
const DECODER = new TextDecoder();

/** The filter, for header and body sources alike. */
export const claudeSession: NamedFilter = {
  name: "claude_session",
  summary: "the session id inside the metadata.user_id of Claude Code",
  apply(value) {
    const text = DECODER.decode(value).trim();
    const session = text.startsWith("{")
      ? memberSession(text)
      : LEGACY.exec(text)?.[1];
    return session === undefined ? undefined : ENCODER.encode(session);
  },
};

/** The `session_id` of a JSON object, when it is a string. */
function memberSession(text: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Not JSON after all, and so no value of Claude Code.
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  if (!Object.hasOwn(parsed, "session_id")) return undefined;
  const { session_id: session } = parsed as { session_id: unknown };
  return typeof session === "string" ? session : undefined;
}
