/**
 * OpenAI's Responses, with the part of it that makes an engine stateful: a
 * response can be continued by its id, on the engine that gave it.
 *
 * Invariant: at most `STORED_MAX` responses are remembered; an id that is not
 * remembered is a 404, as it is on an engine that never gave it.
 *
 * @module
 */
import {
  type Api,
  type ApiCall,
  eventStream,
  openaiError,
  type TokenUsage,
  usageOf,
} from "./api.ts";
import { chatPrompt, contentText, type Generation } from "./generation.ts";
import type { Answer } from "./http_answer.ts";
import { jsonAnswer, type JsonObject } from "./json.ts";

/** More conversations than any test keeps open at once. */
const STORED_MAX = 1000;
const CREATED_AT_S = 1_700_000_000;

/** Makes `POST /v1/responses` with a memory of its own. */
export function responsesApi(): Api {
  const transcripts = new Map<string, string>();
  return (call) => {
    const { body, request, context } = call;
    const previousId = body["previous_response_id"] ?? undefined;
    const previous = previousId === undefined
      ? ""
      : transcripts.get(String(previousId));
    if (previous === undefined) {
      return openaiError(
        404,
        `Previous response with id '${previousId}' not found.`,
        { code: "previous_response_not_found", param: "previous_response_id" },
      );
    }
    const generation = context.generator.start(previous + promptOf(body), {
      tokensMax: body["max_output_tokens"],
      signal: request.signal(),
    });
    if (generation === undefined) {
      return openaiError(503, "The queue of the engine is full");
    }
    if (body["store"] !== false) {
      remember(transcripts, idOf(call, generation), generation.transcript);
    }
    return body["stream"] === true
      ? eventStream(streamed(call, generation), true)
      : whole(call, generation);
  };
}

function promptOf(body: JsonObject): string {
  const input = body["input"];
  const system = body["instructions"] ?? undefined;
  return typeof input === "string"
    ? chatPrompt([{ role: "user", content: contentText(input) }], system)
    : chatPrompt(input, system);
}

function remember(
  transcripts: Map<string, string>,
  id: string,
  transcript: string,
): void {
  transcripts.set(id, transcript);
  for (const oldest of transcripts.keys()) {
    if (transcripts.size <= STORED_MAX) break;
    transcripts.delete(oldest);
  }
}

async function whole(
  call: ApiCall,
  generation: Generation,
): Promise<Answer> {
  await generation.finished;
  return jsonAnswer(
    completed(call, generation, await usageOf(generation)),
  );
}

async function* streamed(
  call: ApiCall,
  generation: Generation,
): AsyncGenerator<JsonObject> {
  let sequence = 0;
  const event = (type: string, fields: JsonObject): JsonObject => ({
    type,
    sequence_number: sequence++,
    ...fields,
  });
  const place = { "output_index": 0, "item_id": messageId(call, generation) };
  const part = { ...place, "content_index": 0 };
  const begun = {
    ...frame(call, generation),
    status: "in_progress",
    output: [],
    usage: null,
  };
  await generation.firstToken;
  yield event("response.created", { response: begun });
  yield event("response.in_progress", { response: begun });
  yield event("response.output_item.added", {
    output_index: 0,
    item: { ...message(call, generation, "in_progress"), content: [] },
  });
  yield event("response.content_part.added", { ...part, part: text("") });
  for await (const token of generation.tokens()) {
    yield event("response.output_text.delta", {
      ...part,
      delta: token,
      logprobs: [],
    });
  }
  yield event("response.output_text.done", {
    ...part,
    text: generation.text,
    logprobs: [],
  });
  yield event("response.content_part.done", {
    ...part,
    part: text(generation.text),
  });
  yield event("response.output_item.done", {
    output_index: 0,
    item: message(call, generation, "completed"),
  });
  yield event("response.completed", {
    response: completed(call, generation, await usageOf(generation)),
  });
}

function completed(
  call: ApiCall,
  generation: Generation,
  usage: TokenUsage,
): JsonObject {
  return {
    ...frame(call, generation),
    status: "completed",
    output: [message(call, generation, "completed")],
    usage: {
      input_tokens: usage.promptTokens,
      input_tokens_details: { cached_tokens: usage.cachedTokens },
      output_tokens: usage.answerTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.promptTokens + usage.answerTokens,
    },
  };
}

function frame(call: ApiCall, generation: Generation): JsonObject {
  const { body } = call;
  return {
    id: idOf(call, generation),
    object: "response",
    created_at: CREATED_AT_S,
    model: call.model,
    error: null,
    incomplete_details: null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    metadata: body["metadata"] ?? {},
    parallel_tool_calls: true,
    previous_response_id: body["previous_response_id"] ?? null,
    store: body["store"] ?? true,
    temperature: body["temperature"] ?? 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: body["top_p"] ?? 1,
    truncation: "disabled",
  };
}

function message(
  call: ApiCall,
  generation: Generation,
  status: string,
): JsonObject {
  return {
    id: messageId(call, generation),
    type: "message",
    role: "assistant",
    status,
    content: [text(generation.text)],
  };
}

function text(value: string): JsonObject {
  return { type: "output_text", text: value, annotations: [], logprobs: [] };
}

function idOf(call: ApiCall, generation: Generation): string {
  return `resp_${call.context.engineId}_${generation.number}`;
}

function messageId(call: ApiCall, generation: Generation): string {
  return `msg_${call.context.engineId}_${generation.number}`;
}
