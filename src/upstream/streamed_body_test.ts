import { assert, assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { between, sleep } from "../../tests/upstream_pair.ts";
import type { BodySource } from "../core/body.ts";
import { UpstreamError, type UpstreamExchange } from "./client.ts";

const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const decoder = new TextDecoder();

async function streamed(exchange: UpstreamExchange): Promise<BodySource> {
  const { body } = await exchange.response;
  assert(body !== undefined && "read" in body, "the body does not stream");
  return body;
}

test("frames go out as they come, those that come together together", () => {
  const gate = Promise.withResolvers<void>();
  return between(async (peer) => {
    await peer.request();
    await peer.send(`${CHUNKED}9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n`);
    await gate.promise;
    await peer.send("9\r\ndata: 3\n\n\r\n0\r\n\r\n");
    await peer.request();
  }, async (send, { client }) => {
    const body = await streamed(send());
    assertEquals(body.length, undefined);
    assertEquals(decoder.decode(await body.read()), "data: 1\n\ndata: 2\n\n");
    gate.resolve();
    assertEquals(decoder.decode(await body.read()), "data: 3\n\n");
    // The connection is free before the reader has asked for the end.
    assertEquals([client.idleCount, client.inFlightCount], [1, 0]);
    assertEquals(await body.read(), undefined);
    assertEquals(await body.read(), undefined);
  });
});

test("what was handed out is never written to again", () =>
  between(async (peer) => {
    await peer.request();
    await peer.send(CHUNKED);
    for (let i = 0; i < 40; i++) {
      const size = i % 2 === 0 ? 100 : 12_000;
      const text = String.fromCharCode(97 + i % 26).repeat(size);
      await peer.send(`${size.toString(16)}\r\n${text}\r\n`);
      await sleep(0);
    }
    await peer.send("0\r\n\r\n");
    await peer.request();
  }, async (send) => {
    const body = await streamed(send());
    const kept: Uint8Array[] = [];
    const copies: Uint8Array[] = [];
    for (;;) {
      const chunk = await body.read();
      if (chunk === undefined) break;
      kept.push(chunk);
      copies.push(chunk.slice());
    }
    assertEquals(kept, copies);
    assertEquals(kept.reduce((sum, { length }) => sum + length, 0), 242_000);
  }));

test("PS (code): a 512 MiB response passes with flat memory", () => {
  const MIB = 1024 * 1024;
  const TOTAL_BYTES = 512 * MIB;
  // Garbage of some hundred read buffers may wait for its collector, and on a
  // busy machine that comes late: still a fraction of what passes.
  const GROWTH_BYTES_MAX = 128 * MIB;
  return between(async (peer) => {
    await peer.request();
    await peer.send(
      `HTTP/1.1 200 OK\r\ncontent-length: ${TOTAL_BYTES}\r\n\r\n`,
    );
    const piece = new Uint8Array(MIB).fill(7);
    for (let i = 0; i < TOTAL_BYTES / MIB; i++) await peer.send(piece);
    await peer.request();
  }, async (send, { client }) => {
    const body = await streamed(send());
    assertEquals(body.length, TOTAL_BYTES);
    const before = Deno.memoryUsage().rss;
    let most = before;
    let total = 0;
    for (;;) {
      const chunk = await body.read();
      if (chunk === undefined) break;
      assertEquals([chunk[0], chunk.at(-1)], [7, 7]);
      total += chunk.length;
      most = Math.max(most, Deno.memoryUsage().rss);
    }
    assertEquals([total, client.idleCount], [TOTAL_BYTES, 1]);
    assert(most - before < GROWTH_BYTES_MAX, `grew by ${most - before} bytes`);
  });
});

test("a reader that stops reading stops the engine", () => {
  // 16 MiB: several times what the buffers of a loopback socket grow to.
  const BUFFERED_BYTES_MAX = 16 * 1024 * 1024;
  let sentBytes = 0;
  return between(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\n\r\n");
    const piece = new Uint8Array(65_536);
    for (;;) {
      await peer.send(piece);
      sentBytes += piece.length;
    }
  }, async (send, { client }) => {
    const body = await streamed(send());
    for (let i = 0; i < 10; i++) await body.read();
    let before = -1;
    while (sentBytes !== before) {
      before = sentBytes;
      await sleep(50);
    }
    assert(sentBytes < BUFFERED_BYTES_MAX, `${sentBytes} bytes were taken`);
    body.cancel();
    assertEquals([client.openCount, client.inFlightCount], [0, 0]);
    await sleep(20);
  });
});

test("cancel() rejects the read that waits and every later one", () =>
  between(async (peer) => {
    await peer.request();
    await peer.send(CHUNKED);
    await peer.closed();
  }, async (send) => {
    const body = await streamed(send());
    const waiting = assertRejects(() => body.read(), UpstreamError);
    body.cancel();
    body.cancel();
    assertEquals((await waiting).kind, "aborted");
    await assertRejects(() => body.read(), UpstreamError);
  }));

test("a body that breaks its framing late is malformed", () =>
  between(async (peer) => {
    await peer.request();
    await peer.send(`${CHUNKED}2\r\nok\r\n`);
    await sleep(5);
    await peer.send("nonsense\r\n");
    await peer.closed();
  }, async (send, { client }) => {
    const body = await streamed(send());
    assertEquals(decoder.decode(await body.read()), "ok");
    const error = await assertRejects(() => body.read(), UpstreamError);
    assertEquals([error.kind, client.openCount], ["malformed", 0]);
  }));

test("E4: 1,000 aborted streams leave no connection behind", () =>
  between(async (peer) => {
    await peer.request();
    await peer.send(`${CHUNKED}2\r\nok\r\n`);
    await peer.closed();
    peer.close();
  }, async (send, { client }) => {
    for (let i = 0; i < 50; i++) {
      await Promise.all(Array.from({ length: 20 }, async () => {
        const body = await streamed(send());
        await body.read();
        body.cancel();
      }));
    }
    assertEquals([client.openCount, client.inFlightCount], [0, 0]);
  }));
