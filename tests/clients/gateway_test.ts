/**
 * The real clients work unchanged through the gateway.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { withWorld } from "../gateway/world.ts";
import { test } from "../leakproof.ts";
import { useAi } from "./ai_client.ts";
import { useAnthropic } from "./anthropic_client.ts";
import { useOpenai } from "./openai_client.ts";

const CLIENTS = [
  { name: "openai", use: useOpenai },
  { name: "@anthropic-ai/sdk", use: useAnthropic },
  { name: "ai", use: useAi },
];

const ENGINES = [
  { speed: Infinity, checksModel: true },
  { speed: Infinity, checksModel: true },
];

for (const { name, use } of CLIENTS) {
  test(`${name} works through the gateway`, async () => {
    await withWorld({ engines: ENGINES }, async ({ url, metric }) => {
      await use(url);
      for (const code of ["internal_error", "client_gone"]) {
        const series = `tryst_requests_total{outcome="${code}"}`;
        assertEquals(await metric(series), 0, code);
      }
    });
  });
}

test("openai's extra fields name the session of its call", async () => {
  await withWorld({ engines: ENGINES }, async ({ url, metric }) => {
    await useOpenai(url);
    const series = 'tryst_session_key_source_total{source="body:session_id"}';
    assertEquals(await metric(series), 1);
  });
});
