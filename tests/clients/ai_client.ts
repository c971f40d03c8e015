/**
 * The AI SDK with its provider for OpenAI-compatible servers.
 *
 * Invariant: nothing here knows what stands behind the base URL.
 *
 * @module
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { APICallError, generateText, streamText } from "ai";

const MODEL = "sim";

/** Generates text whole and streamed, with a session in a header. */
export async function useAi(baseUrl: string): Promise<void> {
  const provider = createOpenAICompatible({
    name: "tryst",
    baseURL: `${baseUrl}/v1`,
    headers: { "x-session-id": "ai-session" },
    includeUsage: true,
  });
  // A retry would hide a fault of what is tested.
  const options = { model: provider(MODEL), maxRetries: 0 };

  const whole = await generateText({
    ...options,
    prompt: "Say h\u00e9llo",
    maxOutputTokens: 6,
  });
  assert(whole.text.length > 0);
  assertEquals(whole.finishReason, "stop");
  assertEquals(whole.usage.outputTokens, 6);

  const streamed = streamText({
    ...options,
    messages: [
      { role: "user", content: "Say h\u00e9llo" },
      { role: "assistant", content: whole.text },
      { role: "user", content: "And on" },
    ],
    maxOutputTokens: 4,
  });
  let text = "";
  for await (const piece of streamed.textStream) text += piece;
  assertEquals(await streamed.text, text);
  assertEquals((await streamed.usage).outputTokens, 4);

  const error = await assertRejects(
    () =>
      generateText({
        ...options,
        model: provider("no-such-model"),
        prompt: "Hello",
      }),
    APICallError,
  );
  assertEquals(error.statusCode, 404);
}
