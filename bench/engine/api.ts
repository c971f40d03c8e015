/**
 * What every API of the simulated engine is given, and what all answer alike.
 *
 * Invariant: an error is in the shape of the API that was asked: OpenAI's,
 * or Anthropic's on its own path.
 *
 * @module
 */
import type { EngineRequest } from "./exchange.ts";
import type { Generation, Generator } from "./generation.ts";
import type { Answer } from "./http_answer.ts";
import { jsonAnswer, type JsonObject } from "./json.ts";

/** What the APIs share. */
export interface ApiContext {
  /** Names the engine in the ids of answers. */
  readonly engineId: string;
  readonly models: readonly string[];
  /** Whether a model that is not in the list is refused, as real engines do. */
  readonly checksModel: boolean;
  readonly generator: Generator;
}

/** A parsed call to an API. */
export interface ApiCall {
  readonly context: ApiContext;
  readonly request: EngineRequest;
  readonly body: JsonObject;
  /** The model to name in the answer. */
  readonly model: string;
}

/** Answers one API path. */
export type Api = (call: ApiCall) => Answer | Promise<Answer>;

const encoder = new TextEncoder();

/** An error in OpenAI's shape. */
export function openaiError(
  status: number,
  message: string,
  details: { readonly code?: string; readonly param?: string } = {},
): Answer {
  const { code = null, param = null } = details;
  const type = status === 404
    ? "not_found_error"
    : status < 500
    ? "invalid_request_error"
    : "server_error";
  return jsonAnswer({ error: { message, type, param, code } }, status);
}

/** A stream of server-sent events, each of `data` and perhaps a name. */
export function eventStream(
  events: AsyncIterable<JsonObject | string>,
  isNamed: boolean,
): Answer {
  return {
    status: 200,
    headers: [
      ["content-type", "text/event-stream; charset=utf-8"],
      ["cache-control", "no-cache"],
    ],
    body: encodeEvents(events, isNamed),
  };
}

/** What is known of the tokens of an answer once it has begun. */
export interface TokenUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly answerTokens: number;
}

/** Waits for the first token. */
export async function usageOf(generation: Generation): Promise<TokenUsage> {
  const { promptTokens, cachedTokens } = await generation.firstToken;
  return { promptTokens, cachedTokens, answerTokens: generation.answerTokens };
}

async function* encodeEvents(
  events: AsyncIterable<JsonObject | string>,
  isNamed: boolean,
): AsyncGenerator<Uint8Array> {
  for await (const event of events) {
    const data = typeof event === "string" ? event : JSON.stringify(event);
    const name = isNamed && typeof event !== "string"
      ? `event: ${event["type"]}\n`
      : "";
    yield encoder.encode(`${name}data: ${data}\n\n`);
  }
}
