/** Tests of the default list. @module */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { HeaderList } from "../core/request.ts";
import { KeyPlan } from "../core/scan/key_plan.ts";
import { DEFAULT_SESSION_KEYS } from "./defaults.ts";
import { isPerRequestId, parseSource } from "./parse.ts";

const PLAN = new KeyPlan(DEFAULT_SESSION_KEYS.map(parseSource));
const UUID = "0f2c5a0e-5c1b-4d5c-9f1c-6b5d1f2e3a4b";

test("DEFAULT_SESSION_KEYS asks the head before the body", () => {
  const kinds = DEFAULT_SESSION_KEYS.map((text) => parseSource(text).kind);
  assertEquals(kinds.lastIndexOf("head") < kinds.indexOf("body"), true);
  assertEquals(new Set(DEFAULT_SESSION_KEYS).size, kinds.length);
});

test("DEFAULT_SESSION_KEYS has no id of a request (A6 prime-rl #2822)", () => {
  const perRequest = ["x-request-id", "traceparent", "x-client-request-id"];
  const headers = perRequest.map((name) => [name, UUID] as const);
  assertEquals(
    PLAN.fromHead({ method: "GET", target: "/", headers }),
    undefined,
  );
  assert(!DEFAULT_SESSION_KEYS.some(isPerRequestId));
});

test("DEFAULT_SESSION_KEYS has no person and no credential", () => {
  const headers: HeaderList = [
    ["authorization", "Bearer x"],
    ["x-user-id", "u"],
    ["x-forwarded-for", "192.0.2.1"],
  ];
  const body = {
    user: "u",
    ["safety_identifier"]: "u",
    metadata: { user_id: "u" },
  };
  assertEquals(source(headers, body), undefined);
});

test("DEFAULT_SESSION_KEYS recognizes the clients it knows", () => {
  const claude = JSON.stringify({ device_id: "d", session_id: UUID });
  const rows: readonly (readonly [string, HeaderList, unknown, string])[] = [
    [
      "a subagent of Claude Code",
      [["x-claude-code-session-id", "s"], ["x-claude-code-agent-id", "a"]],
      { metadata: { user_id: claude } },
      "header:x-claude-code-agent-id",
    ],
    [
      "Claude Code by its body",
      [],
      { metadata: { user_id: claude } },
      "body:metadata.user_id|claude_session",
    ],
    [
      "Codex",
      [["session-id", "s"]],
      { prompt_cache_key: "s" },
      "header:session-id",
    ],
    ["older Codex", [["session_id", "s"]], {}, "header:session_id"],
    [
      "opencode behind a gateway",
      [["x-session-affinity", "ses_1"], ["x-session-id", "ses_1"]],
      {},
      "header:x-session-id",
    ],
    [
      "Open WebUI",
      [["x-openwebui-chat-id", "c"]],
      {},
      "header:x-openwebui-chat-id",
    ],
    ["Kimi and Zed", [], { prompt_cache_key: "p" }, "body:prompt_cache_key"],
    ["Dify's first turn", [], { conversation_id: "" }, "none"],
    ["Dify", [], { conversation_id: "c" }, "body:conversation_id"],
    ["Responses", [], { conversation: "c" }, "body:conversation"],
    [
      "Responses, object",
      [],
      { conversation: { id: "c" } },
      "body:conversation.id",
    ],
    ["SGLang", [], { session_id: "s", session_params: {} }, "body:session_id"],
    ["LiteLLM", [], { litellm_session_id: "s" }, "body:litellm_session_id"],
    [
      "extra metadata",
      [],
      { metadata: { session_id: "s" } },
      "body:metadata.session_id",
    ],
  ];
  for (const [client, headers, body, wanted] of rows) {
    assertEquals(source(headers, body) ?? "none", wanted, client);
  }
});

/** The name of the source that a request's key comes from. */
function source(headers: HeaderList, body: unknown): string | undefined {
  const head = { method: "POST", target: "/v1/messages", headers };
  const sniff = PLAN.createSniff(PLAN.fromHead(head), { needModel: false });
  sniff.push(new TextEncoder().encode(JSON.stringify(body)));
  return PLAN.sourceNames[sniff.found?.sourceIndex ?? -1];
}
