/**
 * The main job over real sockets: turns of a conversation meet their engine.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import { withWorld } from "./world.ts";

test("a conversation stays on its engine, whether the key is in head or body", async () => {
  await withWorld({ engines: [{}, {}, {}] }, async ({ url, metric }) => {
    const served = new Set<string | null>();
    for (let turn = 0; turn < 4; turn++) {
      const inHead = turn % 2 === 0;
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: inHead ? { "x-session-id": "s-1" } : {},
        body: JSON.stringify({
          messages: [{ role: "user", content: "hello" }],
          ...(inHead ? {} : { session_id: "s-1" }),
        }),
      });
      assertEquals(response.status, 200);
      served.add(response.headers.get("x-tryst-endpoint"));
      assertEquals(
        response.headers.get("x-tryst-affinity"),
        turn === 0 ? "new" : "hit",
      );
      assertEquals(
        response.headers.get("x-tryst-key-source"),
        inHead ? "header:x-session-id" : "body:session_id",
      );
      assertEquals(response.headers.get("x-tryst-attempts"), "1");
      assertMatch(response.headers.get("x-request-id") ?? "", /^req-/);
      const { usage } = await response.json();
      assert(usage.prompt_tokens > 0);
    }
    assertEquals(served.size, 1);
    assertEquals(await metric('tryst_affinity_total{outcome="hit"}'), 3);
  });
});
