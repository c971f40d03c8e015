/**
 * A gateway that is stopped while requests are open.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { RawClient } from "./raw_client.ts";
import { bare, post } from "./requests.ts";
import { withWorld } from "./world.ts";

test("stopping ends within its deadline, whatever is open (AB #2283, F16 PostHog #73863)", async () => {
  await withWorld({ engines: [{}] }, async ({ port, engines, gateway }) => {
    const [engine] = engines;
    engine?.faults.set({ hang: true }, { targetPrefix: "/hang" });
    engine?.faults.add({
      switches: { eventDelayMs: 50 },
      targetPrefix: "/v1/chat",
    });
    using waiting = await RawClient.connect(port);
    using streaming = await RawClient.connect(port);
    using uploading = await RawClient.connect(port);
    using idle = await RawClient.connect(port);
    await idle.send(bare("GET", "/health"));
    await idle.reply();
    await waiting.send(bare("GET", "/hang"));
    await engine?.until(({ target }) => target === "/hang");
    const body = '{"stream":true,"max_tokens":1000}';
    await streaming.send(post("/v1/chat/completions", body));
    await streaming.until(/data: /);
    await uploading.send(post("/sink", "x".repeat(100_000)).slice(0, 50_000));
    await engine?.until(({ target }) => target === "/sink");
    await gateway.stop();
    // Idle connections are closed at once, open ones with their engine.
    assertEquals((await streaming.reply()).isWhole, false);
    assert((await waiting.reply()).status >= 400);
    await engine?.until((it) => it.target === "/sink" && it.clientClosedEarly);
    assertEquals(await idle.toEnd(), "");
  });
});
