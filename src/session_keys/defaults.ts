/**
 * The session-key sources of a gateway that configures none.
 *
 * The order is head before body, so that most bodies are never held, and
 * inside each from the most specific identity to the least: a subagent before
 * its session, a conversation before the cache key that several may share.
 *
 * Invariant: no request id, trace id, person or address is in it. `user`,
 * credentials and addresses group strangers and must be asked for.
 *
 * @module
 */

/** The default list, as `parseSource` takes it. */
export const DEFAULT_SESSION_KEYS: readonly string[] = [
  "header:x-dynamo-session-id",
  "header:x-claude-code-agent-id",
  "header:x-claude-code-session-id",
  "header:session-id",
  "header:session_id",
  "header:x-session-id",
  "header:x-session-affinity",
  "header:x-opencode-session",
  "header:x-litellm-session-id",
  "header:x-openwebui-chat-id",
  "header:x-smg-routing-key",
  "header:mcp-session-id",
  "body:session_id",
  "body:litellm_session_id",
  "body:metadata.session_id",
  "body:metadata.user_id|claude_session",
  "body:conversation.id",
  "body:conversation",
  "body:conversation_id",
  "body:prompt_cache_key",
  "body:thread_id",
  "body:chat_id",
];
