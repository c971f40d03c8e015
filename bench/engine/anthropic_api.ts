/**
 * Anthropic's Messages.
 *
 * Invariant: the events of a stream come in the order that Anthropic
 * documents: `message_start`, one block, `message_delta`, `message_stop`.
 *
 * @module
 */
import { type ApiCall, eventStream, type TokenUsage, usageOf } from "./api.ts";
import { chatPrompt, type Generation } from "./generation.ts";
import type { Answer } from "./http_answer.ts";
import { jsonAnswer, type JsonObject } from "./json.ts";

/** `POST /v1/messages`. */
export function messages(call: ApiCall): Answer | Promise<Answer> {
  const { body, context, request } = call;
  const prompt = chatPrompt(body["messages"], body["system"] ?? undefined);
  const generation = context.generator.start(prompt, {
    tokensMax: body["max_tokens"],
    signal: request.signal(),
  });
  if (generation === undefined) {
    return anthropicError(529, "The queue of the engine is full");
  }
  return body["stream"] === true
    ? eventStream(streamed(call, generation), true)
    : whole(call, generation);
}

/** An error in Anthropic's shape. */
export function anthropicError(status: number, message: string): Answer {
  const type = status === 404
    ? "not_found_error"
    : status === 529
    ? "overloaded_error"
    : "invalid_request_error";
  return jsonAnswer({ type: "error", error: { type, message } }, status);
}

async function whole(call: ApiCall, generation: Generation): Promise<Answer> {
  await generation.finished;
  const usage = await usageOf(generation);
  return jsonAnswer({
    ...frame(call, generation),
    content: [{ type: "text", text: generation.text }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { ...promptUsage(usage), output_tokens: usage.answerTokens },
  });
}

async function* streamed(
  call: ApiCall,
  generation: Generation,
): AsyncGenerator<JsonObject> {
  const usage = await usageOf(generation);
  yield {
    type: "message_start",
    message: {
      ...frame(call, generation),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...promptUsage(usage), output_tokens: 1 },
    },
  };
  yield {
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  };
  yield { type: "ping" };
  for await (const token of generation.tokens()) {
    yield {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: token },
    };
  }
  yield { type: "content_block_stop", index: 0 };
  yield {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: usage.answerTokens },
  };
  yield { type: "message_stop" };
}

function frame(call: ApiCall, generation: Generation): JsonObject {
  return {
    id: `msg_${call.context.engineId}_${generation.number}`,
    type: "message",
    role: "assistant",
    model: call.model,
  };
}

function promptUsage(usage: TokenUsage): JsonObject {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
  };
}
