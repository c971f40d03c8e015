/**
 * OpenAI's Chat Completions, Completions and Embeddings, as vLLM serves them.
 *
 * Invariant: the fields are those that the official clients read; times are
 * constant, so that equal requests give equal bytes but for the id.
 *
 * @module
 */
import {
  type ApiCall,
  eventStream,
  openaiError,
  type TokenUsage,
  usageOf,
} from "./api.ts";
import { chatPrompt, contentText, type Generation } from "./generation.ts";
import type { Answer } from "./http_answer.ts";
import { isObject, jsonAnswer, type JsonObject } from "./json.ts";
import { TOKEN_BYTES } from "./prefix_cache.ts";
import { seededRandom } from "./seeded.ts";

/** Any moment will do. */
const CREATED_AT_S = 1_700_000_000;
/** Numbers of an embedding; enough to see that they arrive in order. */
const EMBEDDING_DIMENSIONS = 8;

/** How Chat Completions and Completions differ. */
interface Shape {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  choice(text: string): JsonObject;
  chunkChoice(text: string, finishReason: string | null): JsonObject;
  /** What a stream begins with, if anything. */
  readonly opening: JsonObject | undefined;
}

const CHAT: Shape = {
  idPrefix: "chatcmpl",
  object: "chat.completion",
  chunkObject: "chat.completion.chunk",
  choice: (text) => ({
    index: 0,
    message: { role: "assistant", content: text, refusal: null },
    logprobs: null,
    finish_reason: "stop",
  }),
  chunkChoice: (text, finishReason) => ({
    index: 0,
    delta: finishReason === null ? { content: text } : {},
    logprobs: null,
    finish_reason: finishReason,
  }),
  opening: {
    index: 0,
    delta: { role: "assistant", content: "" },
    logprobs: null,
    finish_reason: null,
  },
};

const TEXT: Shape = {
  idPrefix: "cmpl",
  object: "text_completion",
  chunkObject: "text_completion",
  choice: (text) => ({ index: 0, text, logprobs: null, finish_reason: "stop" }),
  chunkChoice: (text, finishReason) => ({
    index: 0,
    text,
    logprobs: null,
    finish_reason: finishReason,
  }),
  opening: undefined,
};

/** `POST /v1/chat/completions` and `POST /v1/completions`. */
export function completions(call: ApiCall): Answer | Promise<Answer> {
  const { body, request, context } = call;
  const isChat = request.path.endsWith("/chat/completions");
  const prompt = isChat
    ? chatPrompt(body["messages"])
    : contentText(body["prompt"]);
  const generation = context.generator.start(prompt, {
    tokensMax: body["max_completion_tokens"] ?? body["max_tokens"],
    signal: request.signal(),
  });
  if (generation === undefined) {
    return openaiError(503, "The queue of the engine is full");
  }
  const shape = isChat ? CHAT : TEXT;
  if (body["stream"] === true) {
    return eventStream(streamed(call, generation, shape), false);
  }
  return whole(call, generation, shape);
}

/** `POST /v1/embeddings`: numbers that depend on the input alone. */
export function embeddings(call: ApiCall): Answer {
  const { body, model } = call;
  const input = body["input"];
  const inputs = Array.isArray(input) ? input.map(contentText) : [
    contentText(input),
  ];
  let byteCount = 0;
  const data = inputs.map((text, index) => {
    byteCount += text.length;
    const vector = embeddingOf(text);
    const embedding = body["encoding_format"] === "base64"
      ? btoa(String.fromCharCode(...new Uint8Array(vector.buffer)))
      : [...vector];
    return { object: "embedding", index, embedding };
  });
  const tokens = Math.ceil(byteCount / TOKEN_BYTES);
  return jsonAnswer({
    object: "list",
    model,
    data,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

/** `GET /v1/models`, with the fields that vLLM adds. */
export function modelList(models: readonly string[]): Answer {
  return jsonAnswer({
    object: "list",
    data: models.map((id) => ({
      id,
      object: "model",
      created: CREATED_AT_S,
      owned_by: "simulated",
      root: id,
      parent: null,
      max_model_len: 131_072,
    })),
  });
}

async function whole(
  call: ApiCall,
  generation: Generation,
  shape: Shape,
): Promise<Answer> {
  await generation.finished;
  return jsonAnswer({
    ...frame(call, generation, shape, shape.object),
    choices: [shape.choice(generation.text)],
    usage: usageObject(await usageOf(generation)),
  });
}

async function* streamed(
  call: ApiCall,
  generation: Generation,
  shape: Shape,
): AsyncGenerator<JsonObject | string> {
  const chunk = (choices: readonly JsonObject[]): JsonObject => ({
    ...frame(call, generation, shape, shape.chunkObject),
    choices,
  });
  await generation.firstToken;
  if (shape.opening !== undefined) yield chunk([shape.opening]);
  for await (const token of generation.tokens()) {
    yield chunk([shape.chunkChoice(token, null)]);
  }
  yield chunk([shape.chunkChoice("", "stop")]);
  const options = call.body["stream_options"];
  if (isObject(options) && options["include_usage"] === true) {
    yield { ...chunk([]), usage: usageObject(await usageOf(generation)) };
  }
  yield "[DONE]";
}

function frame(
  call: ApiCall,
  generation: Generation,
  shape: Shape,
  object: string,
): JsonObject {
  return {
    id: `${shape.idPrefix}-${call.context.engineId}-${generation.number}`,
    object,
    created: CREATED_AT_S,
    model: call.model,
  };
}

function usageObject(usage: TokenUsage): JsonObject {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.answerTokens,
    total_tokens: usage.promptTokens + usage.answerTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  };
}

function embeddingOf(text: string): Float32Array<ArrayBuffer> {
  let seed = text.length;
  for (let i = 0; i < text.length; i++) {
    seed = Math.imul(seed, 31) + text.charCodeAt(i);
  }
  const random = seededRandom(seed);
  return Float32Array.from(
    { length: EMBEDDING_DIMENSIONS },
    () => random() * 2 - 1,
  );
}
