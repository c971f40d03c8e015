/**
 * Anthropic's own client, used as its users use it.
 *
 * Invariant: nothing here knows what stands behind the base URL.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import Anthropic, { NotFoundError } from "@anthropic-ai/sdk";

const MODEL = "sim";

/** Uses the Messages API: whole, streamed, and failing. */
export async function useAnthropic(
  baseUrl: string,
  apiKey = "none",
): Promise<void> {
  const client = new Anthropic({
    baseURL: baseUrl,
    apiKey,
    // A retry would hide a fault of what is tested.
    maxRetries: 0,
  });
  await converse(client);
  await stream(client);
  await fail(client);
}

async function converse(client: Anthropic): Promise<void> {
  const messages: Anthropic.MessageParam[] = [
    { role: "user", content: "Say h\u00e9llo" },
  ];
  for (const next of ["And again", "And once more"]) {
    const answer = await client.messages.create({
      model: MODEL,
      "max_tokens": 12,
      system: "You are brief",
      messages,
      metadata: { "user_id": userId("anthropic-session") },
    });
    assertEquals([answer.role, answer.stop_reason], ["assistant", "end_turn"]);
    assertEquals(answer.usage.output_tokens, 12);
    messages.push({ role: "assistant", content: answer.content });
    messages.push({ role: "user", content: next });
  }
}

async function stream(client: Anthropic): Promise<void> {
  const events = client.messages.stream({
    model: MODEL,
    "max_tokens": 5,
    messages: [{ role: "user", content: [{ type: "text", text: "Go on" }] }],
  });
  let text = "";
  events.on("text", (piece) => text += piece);
  const last = await events.finalMessage();
  assertEquals(last.content.map((block) => block.type), ["text"]);
  assertEquals(last.usage.output_tokens, 5);
  assert(text.length > 0);
  assertEquals(last.content[0]?.type === "text" && last.content[0].text, text);
}

async function fail(client: Anthropic): Promise<void> {
  const error = await assertRejects(
    () =>
      client.messages.create({
        model: "no-such-model",
        "max_tokens": 1,
        messages: [{ role: "user", content: "Hello" }],
      }),
    NotFoundError,
  );
  assertEquals(error.status, 404);
  assertEquals(error.type, "not_found_error");
}

/** The form in which a coding agent says its session: JSON in a string. */
function userId(session: string): string {
  return JSON.stringify({
    "device_id": "d",
    "account_uuid": "",
    "session_id": session,
  });
}
