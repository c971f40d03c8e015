/**
 * WebSocket tunnels: placed like any request, and true to what both sides say.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { test } from "../leakproof.ts";
import { RawClient } from "./raw_client.ts";
import { withScript } from "./scripted_engine.ts";
import { closing, frame, framesAt, type RawFrame } from "./websocket_frames.ts";
import { hello, rawTunnel, welcome } from "./websocket_hello.ts";
import { dial, withEngines } from "./websocket_pair.ts";
import type { Data } from "./websocket_side.ts";

/** Key and acceptance of RFC 6455, 1.3. */
const SAMPLE_KEY = "dGhlIHNhbXBsZSBub25jZQ==";
const SAMPLE_ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const [TEXT, BINARY, CLOSE, PING, PONG] = [1, 2, 8, 9, 10];

/** The answer to a raw handshake, which closes the connection. */
async function answerTo(port: number, request: string): Promise<string> {
  using client = await RawClient.connect(port);
  await client.send(request);
  return await client.until(/\r\n\r\n/);
}

test("a handshake that no engine would accept is refused before one sees it", async () => {
  await withEngines(1, async ({ port }, [engine]) => {
    const rows: [name: string, request: string][] = [
      ["no key", hello("/").replace(/Sec-WebSocket-Key.*\r\n/, "")],
      ["a short key", hello("/").replace(SAMPLE_KEY, "c2hvcnQ=")],
      ["two keys", hello("/", [`Sec-WebSocket-Key: ${SAMPLE_KEY}`])],
      ["another version", hello("/").replace("Version: 13", "Version: 8")],
      ["no version", hello("/").replace(/Sec-WebSocket-Version.*\r\n/, "")],
      ["a body", `${hello("/", ["Content-Length: 1"])}x`],
      ["a coding", hello("/", ["Transfer-Encoding: chunked"])],
    ];
    for (const [name, request] of rows) {
      assertMatch(await answerTo(port, request), /^HTTP\/1.1 400 /, name);
    }
    assertEquals(engine?.requests.length, 0);
  });
});

test("other upgrades are requests like any other (D4)", async () => {
  const seen: string[] = [];
  await withScript(async (peer, request) => {
    seen.push(request);
    await peer.send("HTTP/1.1 204 No Content\r\n\r\n");
  }, async ({ port }) => {
    const rows = [
      hello("/").replace("WebSocket\r", "h2c\r"),
      hello("/").replace("keep-alive, Upgrade", "keep-alive"),
      hello("/").replace("GET", "OPTIONS"),
    ];
    for (const request of rows) {
      assertMatch(await answerTo(port, request), /^HTTP\/1.1 204 /);
    }
    assertEquals(seen.filter((it) => /^upgrade:/im.test(it)), []);
  });
});

test("the engine's refusal reaches the client as it is", async () => {
  const refusal = "HTTP/1.1 403 Forbidden\r\nx-why: licence\r\n" +
    "set-cookie: a=1\r\ncontent-length: 5\r\n\r\nno!\r\n";
  await withScript(
    (peer) => peer.send(refusal),
    async ({ port, metric }) => {
      using client = await RawClient.connect(port);
      await client.send(hello("/v1/realtime"));
      const reply = await client.reply();
      assertEquals([reply.status, reply.body], [403, "no!\r\n"]);
      assertEquals(reply.headers.get("x-why"), "licence");
      assertEquals(reply.headers.get("x-tryst-endpoint"), "e0");
      assertEquals(await metric("tryst_tunnels_opened_total"), 0);
      // The connection serves on.
      await client.send(hello("/v1/realtime"));
      assertEquals((await client.reply()).status, 403);
    },
  );
});

test("an engine that switches to something else is malformed", async () => {
  const rows: [name: string, from: RegExp, to: string][] = [
    ["another key", /Accept: ./, "Accept: "],
    ["no key", /Sec-WebSocket-Accept.*\r\n/, ""],
    ["another protocol", /Upgrade: websocket/, "Upgrade: h2c"],
    ["no upgrade", /Connection: upgrade\r\n/, ""],
    ["a subprotocol", /$/, "Sec-WebSocket-Protocol: c\r\n\r\n"],
    [
      "an extension",
      /$/,
      "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n",
    ],
  ];
  let row = rows[0];
  await withScript(async (peer, request) => {
    const [, from = /$/, to = ""] = row ?? [];
    const head = welcome(request);
    const isAdded = from.source === "$";
    await peer.send(isAdded ? head.slice(0, -2) + to : head.replace(from, to));
  }, async ({ port, metric }) => {
    for (row of rows) {
      const request = hello("/", ["Sec-WebSocket-Protocol: a, b"]);
      const head = await answerTo(port, request);
      assertMatch(head, /^HTTP\/1.1 502 /, row[0]);
      assertMatch(head, /x-tryst-error: upstream_malformed/i, row[0]);
    }
    assertEquals(await metric("tryst_tunnels_opened_total"), 0);
  }, { config: { health: { failures: 100 } } });
});

test("the engine gets the client's handshake, target and fields as they are", async () => {
  let seen = "";
  await withScript(async (peer, request) => {
    seen = request;
    await peer.send(welcome(request));
    await framesAt(peer, 1);
  }, async ({ port }) => {
    const target = "/v1/../realtime//x?a=%2f&b=%7c~'*&&c";
    using client = await RawClient.connect(port);
    await client.send(hello(target, [
      "Sec-WebSocket-Protocol: realtime, openai-beta.v1",
      "Sec-WebSocket-Extensions: permessage-deflate",
      "Authorization: Bearer t",
      "Origin: https://client.example",
      "Keep-Alive: timeout=5",
      "X-Forwarded-For: 10.1.1.1",
      "X-Request-Id: given",
    ]));
    const head = await client.until(/\r\n\r\n/);
    client.close();
    assert(seen.startsWith(`GET ${target} HTTP/1.1\r\n`), seen + head);
    const fields = seen.split("\r\n").slice(1, -2)
      .map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()));
    const key = fields.find((line) => line.startsWith("sec-websocket-key"));
    assert(
      key !== undefined && !key.includes(SAMPLE_KEY),
      "the key is its own",
    );
    assertMatch(key, /^sec-websocket-key: [A-Za-z0-9+/]{22}==$/);
    assertEquals(
      fields.filter((line) => line !== key && !line.startsWith("host:")).sort(),
      [
        "authorization: Bearer t",
        "connection: Upgrade",
        "origin: https://client.example",
        "sec-websocket-protocol: realtime, openai-beta.v1",
        "sec-websocket-version: 13",
        "upgrade: websocket",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-host: client.example",
        "x-forwarded-proto: http",
        "x-request-id: given",
      ],
    );
  });
});

test("the client gets the engine's subprotocol and fields, and the gateway's", async () => {
  await withScript(async (peer, request) => {
    const lines = [
      "Sec-WebSocket-Protocol: b",
      "Date: Thu, 01 Jan 1970 00:00:00 GMT",
      "Set-Cookie: a=1",
      "Set-Cookie: b=2",
      "Keep-Alive: timeout=5",
      "X-Model: m",
    ];
    await peer.send(welcome(request, lines));
    await framesAt(peer, 1);
  }, async ({ port }) => {
    const lines = ["Sec-WebSocket-Protocol: a, b", "X-Session-Id: s"];
    const head = await answerTo(port, hello("/", lines));
    const fields = head.trimEnd().split("\r\n").slice(1)
      .filter((line) => !line.startsWith("x-request-id: req-"));
    assertEquals(fields.sort(), [
      "connection: Upgrade",
      "date: Thu, 01 Jan 1970 00:00:00 GMT",
      `sec-websocket-accept: ${SAMPLE_ACCEPT}`,
      "sec-websocket-protocol: b",
      "set-cookie: a=1",
      "set-cookie: b=2",
      "upgrade: websocket",
      "x-model: m",
      "x-tryst-affinity: new",
      "x-tryst-attempts: 1",
      "x-tryst-endpoint: e0",
      "x-tryst-key-source: header:x-session-id",
      "x-tryst-queue-ms: 0",
    ]);
  });
});

test("a client that asks for no subprotocol gets none", async () => {
  await withEngines(1, async (world) => {
    const client = dial(world, "/");
    assert(await client.opened());
    assertEquals(client.socket.protocol, "");
    client.socket.close();
    await client.end();
  });
  await withEngines(1, async (world) => {
    const client = dial(world, "/", { protocols: ["a", "b"] });
    assert(await client.opened());
    assertEquals(client.socket.protocol, "b");
    client.socket.close();
    await client.end();
  }, { protocol: "b" });
});

test("tunnels of a session meet at one engine, by header, query and cookie", async () => {
  const keys = ["header:x-session-id", "query:session", "cookie:sid"];
  await withEngines(3, async (world, engines) => {
    const carriers = (key: string) => [
      { target: "/", headers: { "x-session-id": key } },
      { target: `/?session=${key}`, headers: {} },
      { target: "/", headers: { cookie: `sid=${key}` } },
    ];
    for (let i = 0; i < 8; i++) {
      const before = engines.map(({ sides }) => sides.length);
      for (const { target, headers } of carriers(`session-${i}`)) {
        const client = dial(world, target, { headers });
        assert(await client.opened());
        client.socket.close();
        await client.end();
      }
      const met = engines.map(({ sides }, at) =>
        sides.length - (before[at] ?? 0)
      );
      assertEquals(met.toSorted(), [0, 0, 3], `session ${i} met ${met}`);
    }
    assertEquals(await world.metric('tryst_affinity_total{outcome="new"}'), 8);
    assertEquals(await world.metric('tryst_affinity_total{outcome="hit"}'), 16);
  }, { config: { session: { keys } } });
});

test("a handshake moves on from an engine that is gone", async () => {
  await withEngines(2, async (world, [first]) => {
    await first?.[Symbol.asyncDispose]();
    for (let i = 0; i < 6; i++) {
      const client = dial(world, `/${i}`);
      assert(await client.opened());
      client.socket.send("x");
      assertEquals(await client.messages(1), ["x"]);
      client.socket.close();
      await client.end();
    }
  });
});

test("a tunnel holds a place on its engine until it ends", async () => {
  await withEngines(1, async (world) => {
    const first = dial(world, "/");
    assert(await first.opened());
    assertEquals(world.gateway.control.endpoints()[0]?.inFlight, 1);
    assertEquals(await world.metric("tryst_tunnels"), 1);
    assertMatch(await answerTo(world.port, hello("/")), /^HTTP\/1.1 429 /);
    first.socket.close();
    await first.end();
    await world.idle();
    assertEquals(await world.metric("tryst_tunnels"), 0);
    const second = dial(world, "/");
    assert(await second.opened());
    second.socket.close();
    await second.end();
  }, { endpoints: [{ max_in_flight: 1 }], config: { queue: { max: 0 } } });
});

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
    const bytes = 15 + 2 * (125 + 126 + 65_535 + 65_536 + 1_000_000) + 3;
    for (const direction of ["to_endpoint", "to_client"]) {
      const label = `{direction="${direction}"}`;
      const name = "tryst_tunnel_messages_total";
      assertEquals(await world.metric(name + label), sent.length);
      assertEquals(
        await world.metric(`tryst_tunnel_bytes_total${label}`),
        bytes,
      );
    }
    assertEquals(await world.metric("tryst_tunnels_opened_total"), 1);
    client.socket.close(1000);
    assertEquals((await client.end()).code, 1000);
    await world.idle();
    const closed = 'tryst_tunnels_closed_total{cause="client"}';
    assertEquals(await world.metric(closed), 1);
  });
});

test("any messages come back as they went", async () => {
  await withEngines(1, async (world) => {
    const data = fc.oneof(
      fc.string({ unit: "binary" }).map((text) => text as Data),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => bytes as Data),
      fc.integer({ min: 65_500, max: 65_600 }).map((n) =>
        "y".repeat(n) as Data
      ),
    );
    const property = fc.asyncProperty(
      fc.array(data, { minLength: 1, maxLength: 8 }),
      async (sent) => {
        const client = dial(world, "/");
        await client.opened();
        for (const item of sent) client.socket.send(item as string);
        assertEquals(await client.messages(sent.length), sent);
        client.socket.close();
        await client.end();
      },
    );
    await fc.assert(property, { numRuns: 20 });
  });
});

test("fragments are put together, with control frames between them", async () => {
  let atEngine: RawFrame[] = [];
  await withScript(async (peer, request) => {
    // The first message comes together with the head.
    await peer.send(
      Uint8Array.from([
        ...new TextEncoder().encode(welcome(request)),
        ...frame({ opcode: TEXT, isFinal: false }, "a\xc3"),
        ...frame({ opcode: PING }, "p"),
        ...frame({ opcode: 0, isFinal: false }, ""),
        ...frame({ opcode: 0 }, "\xa9b"),
        ...frame({ opcode: BINARY, isFinal: false }, "\xff"),
      ]),
    );
    for (const byte of frame({ opcode: 0 }, "\xfe")) {
      await peer.send(Uint8Array.of(byte));
    }
    atEngine = await framesAt(peer, 3);
    await peer.send(frame({ opcode: CLOSE }, closing(1000)));
    await framesAt(peer, 4);
    peer.close();
  }, async ({ port }) => {
    const peer = await rawTunnel(port, hello("/"));
    const masked = { isMasked: true };
    assertEquals(
      (await framesAt(peer, 2)).map(({ payload }) => payload),
      ["a\xc3\xa9b", "\xff\xfe"],
    );
    await peer.send(frame({ ...masked, opcode: TEXT, isFinal: false }, "x"));
    await peer.send(frame({ ...masked, opcode: 0, isFinal: false }, "y"));
    await peer.send(frame({ ...masked, opcode: PING }, "q"));
    await peer.send(frame({ ...masked, opcode: 0 }, "z"));
    await peer.send(frame({ ...masked, opcode: BINARY }, "\xff\xfe"));
    const frames = await framesAt(peer, 4);
    assertEquals(
      frames.slice(2).map(({ opcode, payload }) => [opcode, payload]),
      [[PONG, "q"], [CLOSE, closing(1000)]],
    );
    await peer.send(frame({ ...masked, opcode: CLOSE }, closing(1000)));
    assertEquals(await peer.closed(), 0);
    peer.close();
    assertEquals(atEngine, [
      { opcode: PONG, isFinal: true, isMasked: true, payload: "p" },
      { opcode: TEXT, isFinal: true, isMasked: true, payload: "xyz" },
      { opcode: BINARY, isFinal: true, isMasked: true, payload: "\xff\xfe" },
    ]);
  });
});
