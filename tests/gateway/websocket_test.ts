/**
 * WebSocket tunnels: placed like any request, true to what both sides say, and
 * closed on one side when the other is gone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { type Data, dial, withEngines } from "./websocket_pair.ts";

test("text and binary messages pass both ways, in order and unchanged", async () => {
  await withEngines(1, async (world, [engine]) => {
    const client = dial(world, "/v1/realtime");
    assert(await client.opened());
    const sent: Data[] = [
      "",
      new Uint8Array(0),
      "\ufeffH\u00e9llo \u{1f600}\u0000",
      new Uint8Array([0, 255, 128]),
    ];
    // Around the lengths where the frame's form changes.
    for (const size of [125, 126, 65_535, 65_536, 1_000_000]) {
      sent.push("x".repeat(size), new Uint8Array(size).fill(size & 0xff));
    }
    for (const data of sent) client.socket.send(data as string);
    assertEquals(await client.messages(sent.length), sent);
    assertEquals((await engine?.side())?.received, sent);
    client.socket.close(1000);
    assertEquals((await client.end()).code, 1000);
  });
});
