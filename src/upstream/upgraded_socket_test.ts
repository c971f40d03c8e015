/**
 * Switching protocols: only when asked, and without losing a byte.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { between } from "../../tests/upstream_pair.ts";
import { test } from "../../tests/leakproof.ts";
import { UpstreamError } from "./client.ts";

const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nupgrade: echo\r\n\r\n";
const UPGRADE = { method: "GET", body: undefined, mayUpgrade: true };
const decoder = new TextDecoder();
const encoder = new TextEncoder();

test("a 101 that nobody asked for is malformed", () =>
  between(
    (peer) => peer.send(SWITCH),
    async (send) => {
      const { response } = send({ ...UPGRADE, mayUpgrade: false });
      await assertRejects(() => response, UpstreamError, "unasked");
    },
  ));

test("a 101 that frames a body is malformed", () =>
  between(
    (peer) => peer.send("HTTP/1.1 101 X\r\ncontent-length: 1\r\n\r\nx"),
    async (send) => {
      await assertRejects(
        () => send(UPGRADE).response,
        UpstreamError,
        "interim",
      );
    },
  ));

test("UpgradedSocket yields what came with the head first", () =>
  between(async (peer) => {
    await peer.request();
    await peer.send(`${SWITCH}first`);
    await peer.receive();
    await peer.send(peer.received);
    await peer.closed();
  }, async (send, { client }) => {
    const { status, body, upgraded } = await send(UPGRADE).response;
    assertEquals([status, body], [101, undefined]);
    assert(upgraded !== undefined);
    let text = "";
    const read = async (size: number) => {
      const buffer = new Uint8Array(size);
      const count = await upgraded.read(buffer);
      text += decoder.decode(buffer.subarray(0, count ?? 0));
    };
    while (text.length < 5) await read(2);
    assertEquals(text, "first");
    await upgraded.write(encoder.encode("more"));
    while (text.length < 9) await read(100);
    assertEquals(text, "firstmore");
    assertEquals([client.inFlightCount, client.openCount], [1, 1]);
    upgraded.close();
    upgraded.close();
    assertEquals([client.inFlightCount, client.openCount], [0, 0]);
  }));

test("a client that closes closes what has switched protocols", () =>
  between(async (peer) => {
    await peer.request();
    await peer.send(SWITCH);
    await peer.closed();
  }, async (send, { client }) => {
    const { upgraded } = await send(UPGRADE).response;
    assert(upgraded !== undefined);
    const reading = upgraded.read(new Uint8Array(1));
    client.close();
    await assertRejects(() => reading);
    assertEquals([client.inFlightCount, client.openCount], [0, 0]);
  }));
