/**
 * Answers over the whole path: bytes as the engine sends them, when it sends
 * them, and never an end that the engine did not make.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { test } from "../leakproof.ts";
import { lacks } from "./old_listener.ts";
import { call, latin1Text, RawClient } from "./raw_client.ts";
import { bare, post } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";
import { type GatewayWorld, withWorld } from "./world.ts";

const SSE = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
  "Transfer-Encoding: chunked\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

const encoder = new TextEncoder();

function chunk(text: string): string {
  return `${encoder.encode(text).length.toString(16)}\r\n${text}\r\n`;
}

function ok(type: string, body: Uint8Array, extra = ""): Uint8Array {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${extra}` +
    `Content-Length: ${body.length}\r\n\r\n`;
  return Uint8Array.from([...encoder.encode(head), ...body]);
}

test("each event arrives before the engine sends the next (dstack #4269, E7 llama-swap #236, AB #2477)", async () => {
  const seen = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const event = (index: number) =>
    `data: {"n":${index},"pad":"${"x".repeat(200)}"}\n\n`;
  await withScript(
    async (peer) => {
      await peer.send(SSE);
      for (const [index, { promise }] of seen.entries()) {
        await peer.send(chunk(event(index)));
        await promise;
      }
      await peer.send(LAST_CHUNK);
    },
    async ({ port }) => {
      using client = await RawClient.connect(port);
      await client.send(post("/v1/chat/completions", '{"stream":true}'));
      for (const [index, { resolve }] of seen.entries()) {
        await client.until(new RegExp(`"n":${index},.*\n\n`));
        resolve();
      }
      const reply = await client.reply();
      assertEquals(reply.body, seen.map((_, index) => event(index)).join(""));
      assertEquals(reply.isWhole, true);
      assertEquals(reply.headers.get("x-accel-buffering"), "no");
    },
  );
});

test("the head arrives before the first event", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await withScript(
    async (peer) => {
      await peer.send(SSE);
      await promise;
      await peer.send(chunk("data: [DONE]\n\n") + LAST_CHUNK);
    },
    async ({ port }) => {
      using client = await RawClient.connect(port);
      await client.send(post("/v1/chat/completions", '{"stream":true}'));
      const head = await client.until(/\r\n\r\n/);
      assertMatch(head, /\r\nx-tryst-endpoint: e0\r\n/);
      resolve();
      assertEquals((await client.reply()).body, "data: [DONE]\n\n");
    },
  );
});

test("events cut anywhere and comments pass as they are (E8 litellm #34819)", async () => {
  const text =
    ': keep-alive\n\ndata: {"a":"\u{1F600}"}\r\n\r\n:\n\ndata: x\n\n';
  const bytes = encoder.encode(text);
  await withScript(
    async (peer) => {
      await peer.send(SSE);
      for (const byte of bytes) {
        await peer.send("1\r\n");
        await peer.send(Uint8Array.of(byte, 13, 10));
      }
      await peer.send(LAST_CHUNK);
    },
    async ({ port }) => {
      const reply = await call(port, post("/v1/chat/completions", "{}"));
      assertEquals(reply.body, latin1Text(bytes));
    },
  );
});

test("stream:true is streamed on every API (AB #1850)", async () => {
  await withWorld({ engines: [{}] }, async ({ port }) => {
    const paths = ["chat/completions", "completions", "messages", "responses"];
    for (const path of paths) {
      const reply = await call(
        port,
        post(`/v1/${path}`, '{"stream":true,"max_tokens":3,"prompt":"a"}'),
      );
      assertEquals(reply.status, 200, path);
      assertMatch(
        reply.headers.get("content-type") ?? "",
        /^text\/event-stream/,
      );
      assert(reply.isWhole && reply.body.endsWith("\n\n"), path);
    }
  });
});

test("type and bytes of an answer are the engine's (PS #880, vllm-ascend #6294, #5033, ramalama #2837)", async () => {
  const all = Uint8Array.from({ length: 70_000 }, (_, at) => at);
  const types = [
    "audio/wav",
    "text/plain; charset=latin1",
    "application/json",
    "application/x-ndjson",
    "text/event-stream",
    "application/octet-stream",
  ];
  for (const type of types) {
    for (const body of [all, all.subarray(0, 256), new Uint8Array()]) {
      await withScript(always(ok(type, body)), async ({ port }) => {
        for (const asked of ["{}", '{"stream":true}']) {
          const reply = await call(port, post("/v1/audio/speech", asked));
          assertEquals(reply.headers.get("content-type"), type);
          assertEquals(reply.body, latin1Text(body));
        }
      });
    }
  }
});

test("an answer without a type gets none (PS #880)", async () => {
  const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  await withScript(always(answer), async ({ port }) => {
    const reply = await call(port, bare("GET", "/x"));
    assertEquals(reply.headers.get("content-type"), undefined);
  });
});

test("length and coding of an encoded answer stay true (PS #733)", async () => {
  const zipped = new Uint8Array(gzipSync("x".repeat(1_000_000)));
  const answer = ok("application/json", zipped, "Content-Encoding: gzip\r\n");
  await withScript(always(answer), async ({ port }) => {
    for (const accept of [[], ["Accept-Encoding: gzip"]]) {
      const reply = await call(port, post("/v1/embeddings", "{}", accept));
      assertEquals(reply.headers.get("content-encoding"), "gzip");
      assertEquals(reply.body, latin1Text(zipped));
      assert(reply.isWhole);
    }
  });
});

test("an encoded event stream gets no event in the plain (E10 dynamo #791)", async () => {
  const head = SSE.replace("\r\n", "\r\nContent-Encoding: gzip\r\n");
  await withDeath(head + chunk("abc"), async ({ die, port }) => {
    using client = await RawClient.connect(port);
    await client.send(post("/v1/chat/completions", "{}"));
    await client.until(/abc/);
    die();
    const reply = await client.reply();
    assertEquals([reply.isWhole, reply.body], [false, "abc"]);
  });
});

/** An engine that sends `text`, and dies when it is told to. */
async function withDeath(
  text: string,
  body: (world: GatewayWorld & { die(): void }) => Promise<void>,
): Promise<void> {
  let die = () => {};
  await withScript(
    async (peer) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      die = resolve;
      await peer.send(text);
      await promise;
      peer.close();
    },
    (world) => body({ ...world, die: () => die() }),
  );
}

test("5 MB come whole, in any framing (agentgateway #1685, PS #952, #960)", async () => {
  const body = new Uint8Array(5_000_000);
  for (let at = 0; at < body.length; at++) body[at] = at * 7;
  const digest = createHash("sha256").update(latin1Text(body)).digest("hex");
  const size = body.length.toString(16);
  const framings:
    readonly (readonly [head: string, tail: string, end: boolean])[] = [
      [`Content-Length: ${body.length}\r\n\r\n`, "", false],
      [`Transfer-Encoding: chunked\r\n\r\n${size}\r\n`, "\r\n0\r\n\r\n", false],
      ["Connection: close\r\n\r\n", "", true],
    ];
  for (const [head, tail, isClosed] of framings) {
    await withScript(
      async (peer) => {
        await peer.send(`HTTP/1.1 200 OK\r\n${head}`);
        await peer.send(body);
        await peer.send(tail);
        if (isClosed) peer.close();
      },
      async ({ port }) => {
        const reply = await call(port, post("/v1/embeddings", "{}"));
        assert(reply.isWhole, head);
        const got = createHash("sha256").update(reply.body).digest("hex");
        assertEquals(got, digest, head);
      },
    );
  }
});

test("an engine that dies within a stream of events leaves an error event and no clean end (E10 dynamo #791)", async () => {
  const start = SSE + chunk('data: {"n":1}\n\n');
  await withDeath(start, async ({ die, idle, metric, port }) => {
    for (const target of ["/v1/chat/completions", "/v1/messages"]) {
      using client = await RawClient.connect(port);
      await client.send(post(target, '{"stream":true}'));
      await client.until(/data: .*\n\n/);
      die();
      const reply = await client.reply();
      assertEquals([reply.status, reply.isWhole], [200, false]);
      const [first, last = "", rest] = reply.body.split("\n\n");
      assertEquals(first, 'data: {"n":1}');
      if (lacks("eventBeforeBreak") !== undefined) continue;
      assertEquals(rest, "");
      const isAnthropic = target === "/v1/messages";
      assertEquals(last.startsWith("event: error\n"), isAnthropic);
      const { error } = JSON.parse(last.slice(last.indexOf("data: ") + 6));
      if (isAnthropic) assertEquals(error.type, "api_error");
      else assertEquals(error.code, "upstream_reset");
    }
    await idle();
    const resets = 'tryst_requests_total{outcome="upstream_reset"}';
    assertEquals(await metric(resets), 2);
  });
});

test(
  "an event cut in two is closed before the error event (E10 dynamo #791)",
  async () => {
    await withDeath(SSE + chunk('data: {"n":'), async ({ die, port }) => {
      using client = await RawClient.connect(port);
      await client.send(post("/v1/chat/completions", "{}"));
      await client.until(/data: /);
      die();
      const reply = await client.reply();
      assertEquals(reply.isWhole, false);
      assertMatch(reply.body, /^data: \{"n":\n\ndata: \{"error":.*\}\n\n$/);
    });
  },
  { ignore: lacks("eventBeforeBreak") !== undefined },
);

test("an engine that dies within any other body leaves a broken connection (E10 dynamo #791)", async () => {
  const json = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const answers = [
    `${json}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n`,
    `${json}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a`,
    `${json}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\nzz\r\n`,
    `${json}Content-Length: 100000\r\n\r\n{"a":`,
  ];
  for (const answer of answers) {
    await withScript(
      async (peer) => {
        await peer.send(answer);
        peer.close();
      },
      async ({ port, idle, events }) => {
        using client = await RawClient.connect(port);
        await client.send(post("/v1/embeddings", "{}"));
        const reply = await client.reply().catch(() => undefined);
        // A body small enough to be awaited fails as a whole instead.
        if (reply?.status === 502) assertEquals(reply.isWhole, true);
        else assertEquals(reply?.isWhole ?? false, false, answer);
        await idle();
        assertEquals(events.at(-1)?.event, "request.failed");
      },
    );
  }
});

test("answers that are not HTTP/1.1 are never passed on", async () => {
  const answers = [
    "\u0016\u0003\u0001 not HTTP\r\n\r\n",
    "HTTP/1.1 abc OK\r\n\r\n",
    "HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
  ];
  for (const answer of answers) {
    await withScript(always(answer), async ({ port }) => {
      const reply = await call(port, post("/v1/embeddings", "{}"));
      assertEquals(reply.status, 502, answer);
      assertEquals(reply.headers.get("x-tryst-error"), "upstream_malformed");
      assertEquals(JSON.parse(reply.body).error.code, "upstream_malformed");
    });
  }
});

test("interim answers of the engine do not count as its answer", async () => {
  const interim = "HTTP/1.1 100 Continue\r\n\r\n" +
    "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n";
  await withScript(
    always(`${interim}HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nhi`),
    async ({ port }) => {
      const reply = await call(port, post("/x", "{}"));
      assertEquals([reply.status, reply.body], [201, "hi"]);
      assertEquals(reply.headers.get("link"), undefined);
    },
  );
});

test("a slow client slows the engine, whose bytes pile up nowhere (PS streamed response kept in memory)", async () => {
  // Far more than the sockets' own buffers on both sides.
  const total = 64 * 1024 * 1024;
  const piece = new Uint8Array(1024 * 1024);
  let sent = 0;
  await withScript(
    async (peer) => {
      await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
      for (; sent < total; sent += piece.length) await peer.send(piece);
    },
    async ({ port }) => {
      using client = await RawClient.connect(port);
      await client.send(post("/x", "{}"));
      await client.until(/\r\n\r\n/);
      let before = -1;
      while (sent > before) {
        before = sent;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert(sent < total / 2, `${sent} bytes were taken`);
    },
  );
});

test("many streams go on beside each other (AB #2196, apisix #13256, PS #448, #127)", async () => {
  await withWorld({ engines: [{}, {}] }, async ({ port, idle, engines }) => {
    const body = '{"stream":true,"max_tokens":20,"messages":[]}';
    const replies = await Promise.all(
      Array.from(
        { length: 150 },
        () => call(port, post("/v1/chat/completions", body)),
      ),
    );
    for (const { isWhole, body } of replies) {
      assert(isWhole && body.endsWith("data: [DONE]\n\n"));
    }
    await idle();
    assertEquals(engines.map(({ stats }) => stats.runningCount), [0, 0]);
  });
});
