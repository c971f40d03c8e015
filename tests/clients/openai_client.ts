/**
 * OpenAI's own client, used as its users use it.
 *
 * Invariant: nothing here knows what stands behind the base URL, so the same
 * function runs against an engine and against a gateway in front of engines.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import OpenAI, { NotFoundError } from "openai";

const MODEL = "sim";

/** Uses every API of the client that an inference server offers. */
export async function useOpenai(
  baseUrl: string,
  apiKey = "none",
): Promise<void> {
  const client = new OpenAI({
    baseURL: `${baseUrl}/v1`,
    apiKey,
    // A retry would hide a fault of what is tested.
    maxRetries: 0,
  });
  await chat(client);
  await streamChat(client);
  await chatInSession(client);
  await complete(client);
  await respond(client);
  await streamResponse(client);
  await embed(client);
  await listModels(client);
  await fail(client);
}

async function chat(client: OpenAI): Promise<void> {
  const answer = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: "user", content: "Say h\u00e9llo \u{1f44b}" }],
  });
  assert((answer.choices[0]?.message.content ?? "").length > 0);
  assertEquals(answer.choices[0]?.finish_reason, "stop");
  assert((answer.usage?.total_tokens ?? 0) > 0);
}

async function streamChat(client: OpenAI): Promise<void> {
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: "user", content: "Tell me more" }],
    stream: true,
    "stream_options": { "include_usage": true },
    "max_completion_tokens": 6,
  });
  const pieces: string[] = [];
  let tokens = 0;
  for await (const chunk of stream) {
    pieces.push(chunk.choices[0]?.delta.content ?? "");
    tokens = chunk.usage?.completion_tokens ?? tokens;
  }
  assertEquals(pieces.filter((piece) => piece !== "").length, 6);
  assertEquals(tokens, 6);
}

/** Extra members of the body go out behind those that the client knows. */
async function chatInSession(client: OpenAI): Promise<void> {
  const request: OpenAI.ChatCompletionCreateParamsNonStreaming & {
    readonly session_id: string;
  } = {
    model: MODEL,
    messages: [{ role: "user", content: "Who am I?" }],
    "session_id": "openai-session",
  };
  const { data, response } = await client.chat.completions.create(request)
    .withResponse();
  assertEquals(response.status, 200);
  assertEquals(data.object, "chat.completion");
}

async function complete(client: OpenAI): Promise<void> {
  const answer = await client.completions.create({
    model: MODEL,
    prompt: "Once upon a time",
    "max_tokens": 5,
  });
  assert((answer.choices[0]?.text ?? "").length > 0);
}

async function respond(client: OpenAI): Promise<void> {
  const first = await client.responses.create({
    model: MODEL,
    input: "Remember the number 7",
    "prompt_cache_key": "openai-responses",
  });
  assertEquals(first.status, "completed");
  assert(first.output_text.length > 0);
  assert((first.usage?.output_tokens ?? 0) > 0);
}

async function streamResponse(client: OpenAI): Promise<void> {
  const stream = client.responses.stream({
    model: MODEL,
    input: [{ role: "user", content: "Count to three" }],
  });
  let text = "";
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  const last = await stream.finalResponse();
  assertEquals(last.output_text, text);
  assert(text.length > 0);
}

async function embed(client: OpenAI): Promise<void> {
  const answer = await client.embeddings.create({
    model: MODEL,
    input: ["one", "two"],
  });
  assertEquals(answer.data.map((row) => row.index), [0, 1]);
  for (const { embedding } of answer.data) {
    assertEquals(embedding.length, 8);
    assert(embedding.every((value) => Math.abs(value) <= 1));
  }
}

async function listModels(client: OpenAI): Promise<void> {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  assert(ids.includes(MODEL), ids.join());
}

async function fail(client: OpenAI): Promise<void> {
  const error = await assertRejects(
    () =>
      client.chat.completions.create({
        model: "no-such-model",
        messages: [{ role: "user", content: "Hello" }],
      }),
    NotFoundError,
  );
  assertEquals(error.status, 404);
  // The client reads these out of the error object of the body.
  assertEquals(error.type, "not_found_error");
  assert(error.message.length > 0);
}
