/**
 * The real clients work with API keys of the gateway, and understand how it
 * refuses them.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import Anthropic, {
  AuthenticationError as AnthropicAuthenticationError,
  RateLimitError as AnthropicRateLimitError,
} from "@anthropic-ai/sdk";
import OpenAI, {
  AuthenticationError,
  PermissionDeniedError,
  RateLimitError,
} from "openai";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import { withWorld, type WorldOptions } from "../gateway/world.ts";
import { test } from "../leakproof.ts";
import { useAnthropic } from "./anthropic_client.ts";
import { useOpenai } from "./openai_client.ts";

const KEY = "sk-red-0123456789";

/** A world of two tenants; green has nothing left after one request. */
const WORLD: WorldOptions = {
  engines: [{ speed: Infinity, checksModel: true }],
  config: {
    tenants: {
      blue: { models: ["other"] },
      green: { requests_per_second: 0.001 },
    },
  },
  secrets: {
    keys: parseKeyLines(
      `red:${KEY}\nblue:sk-blue-0123456789\ngreen:sk-green-0123456789`,
    ),
    credentials: new Map(),
  },
};

/** One call of OpenAI's client; a retry would hide what is tested. */
function askOpenai(url: string, apiKey: string): Promise<unknown> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  return client.chat.completions.create({
    model: "sim",
    messages: [{ role: "user", content: "Hello" }],
  });
}

/** The same of Anthropic's, by either of its headers. */
function askAnthropic(
  url: string,
  key: { readonly apiKey?: string; readonly authToken?: string },
): Promise<unknown> {
  const none = { apiKey: null, authToken: null };
  const options = { ...none, ...key, baseURL: url, maxRetries: 0 };
  return new Anthropic(options).messages.create({
    model: "sim",
    "max_tokens": 4,
    messages: [{ role: "user", content: "Hello" }],
  });
}

test("openai and @anthropic-ai/sdk work with an API key of the gateway", async () => {
  await withWorld(WORLD, async ({ engines, url }) => {
    await useOpenai(url, KEY);
    await useAnthropic(url, KEY);
    await askAnthropic(url, { authToken: KEY });
    for (const { requests } of engines) {
      for (const { headerLines } of requests) {
        assertEquals(headerLines.join("\n").includes(KEY), false);
      }
    }
  });
});

test("openai understands refusals: 401, 403 and 429", async () => {
  await withWorld(WORLD, async ({ url }) => {
    const wrong = await assertRejects(
      () => askOpenai(url, "sk-wrong-0123456789"),
      AuthenticationError,
    );
    assertEquals(wrong.code, "api_key_invalid");
    const forbidden = await assertRejects(
      () => askOpenai(url, "sk-blue-0123456789"),
      PermissionDeniedError,
    );
    assertEquals([forbidden.code, forbidden.param], [
      "model_forbidden",
      "model",
    ]);
    await askOpenai(url, "sk-green-0123456789");
    const fast = await assertRejects(
      () => askOpenai(url, "sk-green-0123456789"),
      RateLimitError,
    );
    assertEquals(fast.code, "rate_limited");
    assertEquals(fast.headers?.get("retry-after"), "1000");
    assertEquals(fast.headers?.get("x-ratelimit-remaining-requests"), "0");
  });
});

test("@anthropic-ai/sdk understands refusals: 401 and 429", async () => {
  await withWorld(WORLD, async ({ url }) => {
    for (const key of [{ apiKey: "sk-wrong-0123456789" }, { authToken: "x" }]) {
      const wrong = await assertRejects(
        () => askAnthropic(url, key),
        AnthropicAuthenticationError,
      );
      assertEquals(wrong.type, "authentication_error");
    }
    await askAnthropic(url, { apiKey: "sk-green-0123456789" });
    await assertRejects(
      () => askAnthropic(url, { authToken: "sk-green-0123456789" }),
      AnthropicRateLimitError,
    );
  });
});
