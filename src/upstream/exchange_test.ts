import { assert, assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type Peer, ScriptedServer } from "../../tests/scripted_server.ts";
import { between, sleep, textOf } from "../../tests/upstream_pair.ts";
import {
  UpstreamError,
  type UpstreamExchange,
  type UpstreamRequest,
} from "./client.ts";

/** 100 ms: what the design grants a disconnect to reach the engine. */
const ABORT_MS_MAX = 100;

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const decoder = new TextDecoder();

async function fails(exchange: UpstreamExchange): Promise<UpstreamError> {
  return await assertRejects(() => exchange.response, UpstreamError);
}

/** Answers each request, and ends the connection after `count` of them. */
async function answer(peer: Peer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (await peer.request() === "") break;
    await peer.send(OK);
  }
  peer.close();
}

test("one connection serves request after request", () =>
  between((peer) => answer(peer, 100), async (send, { client, server }) => {
    for (let i = 0; i < 20; i++) {
      assertEquals(await textOf(await send().response), "ok");
    }
    assertEquals(server.peers.length, 1);
    assertEquals([client.openCount, client.idleCount], [1, 1]);
  }));

test("F1: a POST is sent once when the engine resets after reading it", () => {
  const requests: string[] = [];
  return between(async (peer) => {
    for (let i = 0; i < 2; i++) {
      requests.push(await peer.request());
      if (requests.length === 1) await peer.send(OK);
      else break;
    }
    peer.close();
  }, async (send, { server }) => {
    await send().response;
    const error = await fails(send());
    assertEquals([error.kind, error.sent], ["reset", true]);
    assertEquals([requests.length, server.peers.length], [2, 1]);
  });
});

test("F1: a POST on a fresh connection is sent once", () => {
  let requestCount = 0;
  return between(async (peer) => {
    await peer.request();
    requestCount++;
    peer.close();
  }, async (send) => {
    const error = await fails(send());
    assertEquals([error.kind, error.sent, requestCount], ["reset", true, 1]);
  });
});

test("F2: a GET on a stale connection is sent again, once", () => {
  const requests: number[] = [];
  return between(async (peer) => {
    // The first connection swallows its second request and dies.
    for (let i = 0; i < 2; i++) {
      if (await peer.request() === "") break;
      requests.push(peer.number);
      if (peer.number === 0 && i === 1) break;
      await peer.send(OK);
    }
    peer.close();
  }, async (send) => {
    const get = { method: "GET", body: undefined };
    await send(get).response;
    assertEquals((await send(get).response).status, 200);
    assertEquals(requests, [0, 0, 1]);
  });
});

test("F2: a second stale connection is not tried a third time", () => {
  let requestCount = 0;
  return between(async (peer) => {
    while (await peer.request() !== "") {
      requestCount++;
      if (requestCount > 1) break;
      await peer.send(OK);
    }
    peer.close();
  }, async (send) => {
    const get = { method: "GET", body: undefined };
    await send(get).response;
    const error = await fails(send(get));
    assertEquals([error.kind, error.sent, requestCount], ["reset", true, 3]);
  });
});

test("F3: what the engine closed while idle fails no request", () =>
  between((peer) => answer(peer, 1), async (send, { client, server }) => {
    for (let i = 0; i < 5; i++) {
      assertEquals((await send().response).status, 200);
      while (client.idleCount > 0) await sleep(1);
    }
    assertEquals(server.peers.length, 5);
  }));

test("a refused connection is unreachable and unsent", async () => {
  const gone = new ScriptedServer(() => Promise.resolve());
  const { address } = gone;
  await gone[Symbol.asyncDispose]();
  await between(() => Promise.resolve(), async (send) => {
    const error = await fails(send({ address }));
    assertEquals([error.kind, error.sent], ["unreachable", false]);
  });
});

test("responses of every framing come out whole, and when kept", async () => {
  const rows: readonly (readonly [
    name: string,
    method: string,
    sent: string,
    wanted: readonly [status: number, body: string, isKept: boolean],
  ])[] = [
    ["a length", "POST", OK, [200, "ok", true]],
    ["no bytes", "POST", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", [
      200,
      "",
      true,
    ]],
    ["HEAD", "HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", [
      200,
      "",
      true,
    ]],
    ["204", "POST", "HTTP/1.1 204 No Content\r\n\r\n", [204, "", true]],
    ["304", "GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n", [
      304,
      "",
      true,
    ]],
    ["1xx first", "POST", `HTTP/1.1 100 Continue\r\n\r\n${OK}`, [
      200,
      "ok",
      true,
    ]],
    [
      "8 interim heads",
      "POST",
      "HTTP/1.1 103 Early\r\nlink: x\r\n\r\n".repeat(8) + OK,
      [200, "ok", true],
    ],
    [
      "chunked with extension and trailers",
      "POST",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" +
      "1;a=b\r\no\r\n1\r\nk\r\n0\r\nx-sum: 1\r\n\r\n",
      [200, "ok", true],
    ],
    ["until close", "POST", "HTTP/1.1 200 OK\r\n\r\nok", [200, "ok", false]],
    ["HTTP/1.0", "POST", "HTTP/1.0 200 OK\r\n\r\nok", [200, "ok", false]],
  ];
  for (const [name, method, sent, [status, body, isKept]] of rows) {
    for (const inPieces of [false, true]) {
      await between(async (peer) => {
        await peer.request();
        for (const piece of inPieces ? sent.match(/[^]{1,7}/g) ?? [] : [sent]) {
          await peer.send(piece);
          if (inPieces) await sleep(0);
        }
        if (isKept) await peer.request();
        peer.close();
      }, async (send, { client }) => {
        const noBody = { method, body: undefined };
        const response = await send(method === "POST" ? {} : noBody).response;
        assertEquals(response.status, status, name);
        assertEquals(await textOf(response), body, name);
        assertEquals(client.idleCount, isKept ? 1 : 0, name);
      });
    }
  }
});

test("smuggled, doubled and broken responses are malformed", async () => {
  const chunked = "transfer-encoding: chunked\r\n";
  const rows = [
    `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n${chunked}\r\n0\r\n\r\n`,
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n",
    `HTTP/1.1 200 OK\r\n${chunked}\r\nzz\r\n`,
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n".repeat(9) + OK,
    "HTTP/1.1 100 Continue\r\ncontent-length: 2\r\n\r\nok",
    "SSH-2.0-x\r\n\r\n",
    "HTTP/1.1 200 OK\n\n",
  ];
  for (const sent of rows) {
    await between(async (peer) => {
      await peer.request();
      await peer.send(sent);
      await peer.closed();
    }, async (send, { client }) => {
      const error = await fails(send());
      assertEquals([error.kind, error.sent], ["malformed", true], sent);
      assertEquals(client.openCount, 0);
    });
  }
});

test("a response that breaks off never looks complete", async () => {
  const big = "content-length: 100000\r\n\r\n";
  const rows:
    readonly (readonly [sent: string, streamed: string | undefined])[] = [
      ["", undefined],
      ["HTTP/1.1 200 OK\r\nconte", undefined],
      ["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nok", undefined],
      ["HTTP/1.1 100 Continue\r\n\r\n", undefined],
      [`HTTP/1.1 200 OK\r\n${big}ok`, "ok"],
      [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n",
        "ok",
      ],
      [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
        "ok",
      ],
    ];
  for (const [sent, streamed] of rows) {
    await between(async (peer) => {
      await peer.request();
      await peer.send(sent);
      peer.close();
    }, async (send, { client }) => {
      if (streamed === undefined) {
        assertEquals((await fails(send())).kind, "reset", sent);
      } else {
        const { body } = await send().response;
        assert(body !== undefined && "read" in body);
        assertEquals(decoder.decode(await body.read()), streamed);
        for (let i = 0; i < 2; i++) {
          const error = await assertRejects(() => body.read(), UpstreamError);
          assertEquals(error.kind, "reset", sent);
        }
      }
      assertEquals([client.openCount, client.inFlightCount], [0, 0]);
    });
  }
});

test("PS #634: abort() reaches the engine within 100 ms in every phase", async () => {
  const big = new Uint8Array(16 * 1024 * 1024);
  const phases: readonly (readonly [
    name: string,
    sent: string,
    changes: Partial<UpstreamRequest>,
  ])[] = [
    ["waiting for the head", "", {}],
    ["within the head", "HTTP/1.1 200 OK\r\n", {}],
    ["gathering", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx", {}],
    [
      "streaming",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n",
      {},
    ],
    ["uploading", "", { body: big }],
  ];
  for (const [name, sent, changes] of phases) {
    const reached = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    await between(async (peer) => {
      if (changes.body === undefined) await peer.request();
      await peer.send(sent);
      reached.resolve();
      await peer.closed();
      closed.resolve();
    }, async (send, { client }) => {
      const exchange = send(changes);
      const isStreaming = name === "streaming";
      const response = isStreaming ? await exchange.response : undefined;
      await reached.promise;
      await sleep(5);
      exchange.abort();
      exchange.abort();
      const late = sleep(ABORT_MS_MAX).then(() => "late");
      assertEquals(
        await Promise.race([closed.promise.then(() => "closed"), late]),
        "closed",
        name,
      );
      await late;
      if (!isStreaming) assertEquals((await fails(exchange)).kind, "aborted");
      const body = response?.body;
      if (body !== undefined && "read" in body) {
        const error = await assertRejects(() => body.read(), UpstreamError);
        assertEquals(error.kind, "aborted");
      }
      assertEquals([client.openCount, client.inFlightCount], [0, 0], name);
    });
  }
});
