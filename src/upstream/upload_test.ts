import { assert, assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { Peer } from "../../tests/scripted_server.ts";
import { between, sleep, textOf } from "../../tests/upstream_pair.ts";
import type { BodySource } from "../core/body.ts";
import { type UpstreamBody, UpstreamError } from "./client.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const HEAD = "POST /v1/chat/completions HTTP/1.1\r\nhost: engine\r\n";
const encoder = new TextEncoder();

/** A request body that yields `chunks`, then ends or fails. */
class Chunks implements BodySource {
  readonly length = undefined;
  readCount = 0;
  cancelCount = 0;
  readonly #chunks: (Uint8Array | Error)[];

  constructor(chunks: readonly (string | Uint8Array | Error)[]) {
    this.#chunks = chunks.map((chunk) =>
      typeof chunk === "string" ? encoder.encode(chunk) : chunk
    );
  }

  read(): Promise<Uint8Array | undefined> {
    this.readCount++;
    const chunk = this.#chunks.shift();
    return chunk instanceof Error
      ? Promise.reject(chunk)
      : Promise.resolve(chunk);
  }

  cancel(): void {
    this.cancelCount++;
  }
}

/** A request body without end, of 64 KiB chunks. */
class Endless implements BodySource {
  readonly length = undefined;
  byteCount = 0;
  cancelCount = 0;
  readonly #chunk = new Uint8Array(65_536);

  read(): Promise<Uint8Array | undefined> {
    if (this.cancelCount > 0) return Promise.resolve(undefined);
    this.byteCount += this.#chunk.length;
    return Promise.resolve(this.#chunk);
  }

  cancel(): void {
    this.cancelCount++;
  }
}

function body(
  held: readonly string[],
  rest: readonly (string | Uint8Array | Error)[],
): UpstreamBody & { rest: Chunks } {
  return {
    held: held.map((text) => encoder.encode(text)),
    rest: new Chunks(rest),
  };
}

/** Receives until the client closes, and hands over what came. */
async function receiveAll(peer: Peer): Promise<string> {
  while (await peer.receive());
  return peer.received;
}

test("a body that fails never makes a complete-looking request", async () => {
  const broken = new Error("client has gone");
  const rows: readonly (readonly [
    name: string,
    body: UpstreamBody,
    contentLength: number | undefined,
    sentBody: string,
  ])[] = [
    ["fails, with a length", body(["ab"], ["c", broken]), 5, "abc"],
    ["fails at once", body([], [broken]), 5, ""],
    ["is short", body(["ab"], ["c"]), 5, "abc"],
    ["is short and empty", body([], []), 1, ""],
    ["is long", body(["ab"], ["cd", "ef"]), 5, "abcd"],
    ["is long by a chunk", body(["ab"], ["cde", "f"]), 5, "ab"],
    ["fails after its length", body(["ab"], ["cde", broken]), 5, "ab"],
    ["is long in what was held", body(["abc", "def"], []), 5, "abc"],
    ["is long though empty was declared", body([], ["a"]), 0, ""],
    [
      "fails, chunked",
      body(["ab"], ["c", broken]),
      undefined,
      "2\r\nab\r\n1\r\nc",
    ],
  ];
  for (const [name, body, contentLength, sentBody] of rows) {
    const received = Promise.withResolvers<string>();
    await between(async (peer) => {
      received.resolve(await receiveAll(peer));
    }, async (send, { client }) => {
      const exchange = send({ body, contentLength });
      const error = await assertRejects(
        () => exchange.response,
        UpstreamError,
        "Cannot send the request: its body",
        name,
      );
      assertEquals([error.kind, error.sent], ["request_body", true], name);
      const framing = contentLength === undefined
        ? "transfer-encoding: chunked"
        : `content-length: ${contentLength}`;
      // A declared length of 0 is complete with the head; all others are not.
      assertEquals(
        await received.promise,
        `${HEAD}${framing}\r\n\r\n${sentBody}`,
        name,
      );
      assertEquals(client.openCount, 0);
    });
  }
});

test("a body arrives as it was, in its framing", async () => {
  const large = "x".repeat(20_000);
  const rows: readonly (readonly [
    name: string,
    body: UpstreamBody,
    contentLength: number | undefined,
    wanted: string,
  ])[] = [
    [
      "whole and large",
      encoder.encode(large.repeat(5)),
      undefined,
      large.repeat(5),
    ],
    ["sized", body(["ab", "c"], ["", "de"]), 5, "abcde"],
    ["sized, large", body([large], [large]), 40_000, large + large],
    ["sized and empty", body([], []), 0, ""],
    [
      "chunked",
      body(["ab", ""], ["c", "", "0123456789abcdef"]),
      undefined,
      "2\r\nab\r\n1\r\nc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n",
    ],
    ["chunked and empty", body([], [""]), undefined, "0\r\n\r\n"],
    [
      "chunked, large",
      body(["a"], [large, "b"]),
      undefined,
      `1\r\na\r\n4e20\r\n${large}\r\n1\r\nb\r\n0\r\n\r\n`,
    ],
  ];
  for (const [name, body, contentLength, wanted] of rows) {
    let received = "";
    await between(async (peer) => {
      for (let i = 0; i < 2; i++) {
        received = await peer.request() || received;
        await peer.send(OK);
      }
    }, async (send, { client }) => {
      const response = await send({ body, contentLength }).response;
      assertEquals(await textOf(response), "ok", name);
      const bodyAt = received.indexOf("\r\n\r\n") + 4;
      assertEquals(received.slice(bodyAt), wanted, name);
      assertEquals(client.idleCount, 1, name);
    });
  }
});

test("a body is untouched by an attempt that could not connect", () =>
  between((peer) => {
    peer.close();
    return Promise.resolve();
  }, async (send) => {
    const unsent = body(["ab"], ["c"]);
    const exchange = send({
      body: unsent,
      contentLength: 3,
      address: { kind: "unix", path: "/nonexistent/engine.sock" },
    });
    const error = await assertRejects(() => exchange.response, UpstreamError);
    assertEquals([error.kind, error.sent], ["unreachable", false]);
    assertEquals([unsent.rest.readCount, unsent.rest.cancelCount], [0, 0]);
  }));

test("an early refusal is seen and stops the upload", () => {
  const refusal =
    "HTTP/1.1 413 Too Large\r\ntransfer-encoding: chunked\r\n\r\n";
  const release = Promise.withResolvers<void>();
  return between(async (peer) => {
    await peer.receive();
    await peer.send(`${refusal}3\r\nbig\r\n`);
    await release.promise;
    await peer.send("0\r\n\r\n");
    await peer.closed();
  }, async (send, { client }) => {
    const rest = new Endless();
    const exchange = send({ body: { held: [], rest } });
    const response = await exchange.response;
    assertEquals([response.status, rest.cancelCount], [413, 1]);
    const { byteCount } = rest;
    await sleep(20);
    assertEquals(rest.byteCount, byteCount);
    release.resolve();
    assertEquals(await textOf(response), "big");
    assertEquals([client.openCount, client.idleCount], [0, 0]);
    // Deno 2.7 lets go of the socket when the pending write has ended.
    await sleep(20);
  });
});

test("a refusal is read even when the engine has closed behind it", () =>
  between(async (peer) => {
    await peer.receive();
    await peer.send("HTTP/1.1 429 Busy\r\ncontent-length: 4\r\n\r\nbusy");
    peer.close();
  }, async (send) => {
    // What the engine left unread makes its system reset the connection,
    // which can overtake the refusal; never is it taken for a success.
    const exchange = send({ body: new Uint8Array(300_000) });
    try {
      const response = await exchange.response;
      assertEquals(await textOf(response), "busy");
    } catch (error) {
      assert(error instanceof UpstreamError);
      assertEquals([error.kind, error.sent], ["reset", true]);
    }
  }));

test("request and response stream at the same time", () =>
  between(async (peer) => {
    await peer.send(
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n",
    );
    await peer.request();
    await peer.send("0\r\n\r\n");
    await peer.request();
  }, async (send, { client }) => {
    const gate = Promise.withResolvers<Uint8Array | undefined>();
    const rest = {
      length: undefined,
      read: () => gate.promise,
      cancel: () => {},
    };
    const exchange = send({ body: { held: [encoder.encode("a")], rest } });
    const response = await exchange.response;
    assert(response.body !== undefined && "read" in response.body);
    assertEquals(await response.body.read(), encoder.encode("ok"));
    gate.resolve(undefined);
    assertEquals(await response.body.read(), undefined);
    assertEquals(client.idleCount, 1);
  }));

test("a response that ends before its request ends the upload", () =>
  between(async (peer) => {
    await peer.receive();
    await peer.send(OK);
    await peer.closed();
  }, async (send, { client }) => {
    const rest = new Endless();
    const exchange = send({ body: { held: [], rest } });
    assertEquals(await textOf(await exchange.response), "ok");
    assertEquals([rest.cancelCount, client.openCount], [1, 0]);
    await sleep(5);
  }));

test("an engine that does not read stops the reading of the body", () => {
  // 16 MiB: several times what the buffers of a loopback socket grow to.
  const BUFFERED_BYTES_MAX = 16 * 1024 * 1024;
  const release = Promise.withResolvers<void>();
  return between(async (peer) => {
    await release.promise;
    await peer.closed();
  }, async (send) => {
    const rest = new Endless();
    const exchange = send({ body: { held: [], rest } });
    let before = -1;
    while (rest.byteCount !== before) {
      before = rest.byteCount;
      await sleep(50);
    }
    assert(rest.byteCount > 0 && rest.byteCount < BUFFERED_BYTES_MAX);
    exchange.abort();
    release.resolve();
    await assertRejects(() => exchange.response, UpstreamError);
    assertEquals(rest.cancelCount, 1);
    // Deno 2.7 lets go of the socket when the pending write has ended.
    await sleep(20);
  });
});
