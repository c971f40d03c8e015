/**
 * The real clients against the simulated engine, with nothing between.
 *
 * Invariant: what fails here is the engine's fault or the client's, so that a
 * failure of the same functions behind a gateway is the gateway's.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { startEngine } from "../../bench/engine/engine.ts";
import { test } from "../leakproof.ts";
import { useAi } from "./ai_client.ts";
import { useAnthropic } from "./anthropic_client.ts";
import { useOpenai } from "./openai_client.ts";

const CLIENTS = [
  { name: "openai", use: useOpenai },
  { name: "@anthropic-ai/sdk", use: useAnthropic },
  { name: "ai", use: useAi },
];

for (const { name, use } of CLIENTS) {
  test(`${name} works with the engine`, async () => {
    await using engine = await startEngine({
      speed: Infinity,
      checksModel: true,
    });
    await use(engine.url);
    for (const record of engine.requests) {
      assert(record.isComplete && !record.clientClosedEarly, record.target);
    }
  });
}

test("openai puts extra fields into the body, behind its own", async () => {
  await using engine = await startEngine({
    speed: Infinity,
    checksModel: true,
  });
  await useOpenai(engine.url);
  const bodies = engine.requests.map(({ body }) =>
    new TextDecoder().decode(body)
  );
  const inSession = bodies.filter((body) => body.includes("openai-session"));
  assertEquals(inSession.length, 1);
  assert(inSession[0]?.endsWith('"session_id":"openai-session"}'));
});
