/**
 * Errors speak the language of the API that was asked.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import {
  asGatewayError,
  ERROR_TABLE,
  type ErrorCode,
  GatewayError,
} from "../core/error.ts";
import { test } from "../../tests/leakproof.ts";
import { errorAnswer } from "./error_answer.ts";

function bodyOf(code: ErrorCode, target: string): Record<string, unknown> {
  const answer = errorAnswer(new GatewayError(code), target, "id-1");
  if (!(answer.body instanceof Uint8Array)) throw new Error("Cannot read body");
  return JSON.parse(new TextDecoder().decode(answer.body));
}

const CODES = Object.keys(ERROR_TABLE) as ErrorCode[];

test("errorAnswer() has OpenAI's four fields for every row", () => {
  for (const code of CODES) {
    const { error } = bodyOf(code, "/v1/chat/completions");
    const { type, message } = ERROR_TABLE[code];
    assertEquals(error, { message, type, param: null, code });
  }
});

test("errorAnswer() has Anthropic's shape under /v1/messages", () => {
  for (const code of CODES) {
    for (const target of ["/v1/messages", "/v1/messages?beta=true"]) {
      const body = bodyOf(code, target);
      assertEquals(body.type, "error");
      assertEquals(body.request_id, "id-1");
    }
  }
  assertEquals(bodyOf("model_unknown", "/v1/messages/count_tokens").error, {
    type: "not_found_error",
    message: "No endpoint serves the requested model",
  });
  assertEquals(bodyOf("model_unknown", "/v1/messages_x").type, undefined);
});

test("errorAnswer() says when to try again, where that helps (G8 llm-d-router #2047)", () => {
  for (const code of CODES) {
    const answer = errorAnswer(new GatewayError(code), "/", "id-1");
    const headers = new Map(answer.headers);
    const row = new GatewayError(code).row;
    assertEquals(headers.get("retry-after"), row.retryAfterS?.toString());
    assertEquals(headers.get("x-tryst-error"), code);
    assertEquals(answer.status, row.status);
  }
  assertEquals(ERROR_TABLE.endpoints_full.status, 429);
  assertEquals(ERROR_TABLE.no_eligible_endpoint.status, 503);
});

test("asGatewayError() hides what nobody expected", () => {
  const error = asGatewayError(new Error("secret detail"));
  assertEquals(error.code, "internal_error");
  assertEquals(error.message, ERROR_TABLE.internal_error.message);
});
