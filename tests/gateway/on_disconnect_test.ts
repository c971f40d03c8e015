/**
 * `on_disconnect: finish`: engines that suffer from aborts get to answer.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { RawClient } from "./raw_client.ts";
import { post } from "./requests.ts";
import { withWorld } from "./world.ts";

const TARGET = "/v1/chat/completions";

for (const finishes of [true, false]) {
  const endpoints = [{ on_disconnect: finishes ? "finish" : "abort" }];
  const verb = finishes ? "goes on" : "ends";

  test(`before the head, a request whose client left ${verb}`, async () => {
    await withWorld({ engines: [{}], endpoints }, async (world) => {
      const [engine] = world.engines;
      if (engine === undefined) throw new Error("Cannot find the engine");
      engine.faults.set({ firstByteDelayMs: 300 }, { targetPrefix: TARGET });
      using client = await RawClient.connect(world.port);
      await client.send(post(TARGET, "{}"));
      await engine.until(({ target }) => target === TARGET);
      client.close();
      const record = await engine.until((it) =>
        it.target === TARGET &&
        (it.clientClosedEarly || it.answeredAtMs !== undefined)
      );
      assertEquals(record.clientClosedEarly, !finishes);
      await world.idle();
    });
  });

  test(`within a stream, a request whose client left ${verb}`, async () => {
    await withWorld({ engines: [{}], endpoints }, async (world) => {
      const [engine] = world.engines;
      if (engine === undefined) throw new Error("Cannot find the engine");
      engine.faults.set({ eventDelayMs: 30 }, { targetPrefix: TARGET });
      using client = await RawClient.connect(world.port);
      await client.send(
        post(TARGET, '{"stream":true,"max_tokens":12,"messages":[]}'),
      );
      await client.until(/data: /);
      client.close();
      const record = await engine.until((it) =>
        it.target === TARGET &&
        (it.clientClosedEarly || it.answeredAtMs !== undefined)
      );
      assertEquals(record.clientClosedEarly, !finishes);
      await world.idle();
    });
  });
}
