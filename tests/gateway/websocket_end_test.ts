/**
 * How tunnels end: with the codes of whoever ended them, on one side as soon
 * as the other is gone, and before they hold more than they may.
 *
 * @module
 */
import { assert, assertEquals, assertLess } from "@std/assert";
import { test } from "../leakproof.ts";
import type { Peer } from "../scripted_server.ts";
import { withScript } from "./scripted_engine.ts";
import { closing, frame, framesAt } from "./websocket_frames.ts";
import { hello, rawTunnel, welcome } from "./websocket_hello.ts";
import { dial, withEngines } from "./websocket_pair.ts";
import { type Closed, type Side, within } from "./websocket_side.ts";
import type { GatewayWorld } from "./world.ts";

const [TEXT, BINARY, CLOSE, PING] = [1, 2, 8, 9];

/** What the runtime shows of a close without a code, and without a close. */
const NO_CODE: Closed = { code: 1005, reason: "" };

const MIB = 1_048_576;

/** The limit on a message: 16 MiB. */
const MESSAGE_BYTES_MAX = 16 * MIB;

/** Codes that may be sent, with a reason each; `undefined` for none. */
const CODES: readonly (readonly [code: number | undefined, reason: string])[] =
  [
    [undefined, ""],
    [1000, ""],
    [1000, "done"],
    [1001, "shift ends"],
    [1008, "policy"],
    [1011, "engine \u00e9rror"],
    [1012, ""],
    [1013, "later"],
    [3000, "library"],
    [4999, "x".repeat(123)],
  ];

/** How many tunnels one cause has closed. */
function closedBy(world: GatewayWorld, cause: string): Promise<number> {
  return world.metric(`tryst_tunnels_closed_total{cause="${cause}"}`);
}

/** Runs `body` with an open tunnel between two sides of the runtime's own. */
async function withTunnel(
  body: (world: GatewayWorld, client: Side, engine: Side) => Promise<void>,
  config: Record<string, unknown> = {},
): Promise<void> {
  await withEngines(1, async (world, [engine]) => {
    const client = dial(world, "/");
    assert(await client.opened());
    const side = await engine?.side();
    if (side === undefined) throw new Error("Cannot find the engine's side");
    await body(world, client, side);
    await client.end();
    await side.end();
  }, { config });
}

/** A raw engine that plays `script` once it has accepted the handshake. */
function withRawEngine(
  script: (peer: Peer) => Promise<void>,
  body: (world: GatewayWorld) => Promise<void>,
): Promise<void> {
  return withScript(async (peer, request) => {
    await peer.send(welcome(request));
    await script(peer);
    peer.close();
  }, body);
}

test("the engine's close code and reason reach the client", async () => {
  await withEngines(1, async (world, [engine]) => {
    for (const [index, [code, reason]] of CODES.entries()) {
      const client = dial(world, `/${index}`);
      const side = await engine?.side(index);
      await client.opened();
      side?.socket.close(code, reason);
      const expected = code === undefined ? NO_CODE : { code, reason };
      assertEquals(await client.end(), expected);
    }
    await world.idle();
    assertEquals(await closedBy(world, "endpoint"), CODES.length);
    assertEquals(
      await world.metric('tryst_requests_total{outcome="1xx"}'),
      CODES.length,
    );
  });
});

test("the client's close code and reason reach the engine", async () => {
  await withEngines(1, async (world, [engine]) => {
    for (const [index, [code, reason]] of CODES.entries()) {
      const client = await rawTunnel(world.port, hello(`/${index}`));
      const text = String.fromCharCode(...new TextEncoder().encode(reason));
      const payload = code === undefined ? "" : closing(code, text);
      await client.send(frame({ opcode: CLOSE, isMasked: true }, payload));
      const expected = code === undefined ? NO_CODE : { code, reason };
      assertEquals(await (await engine?.side(index))?.end(), expected);
      const [answer] = await framesAt(client, 1);
      assertEquals([answer?.opcode, answer?.payload], [CLOSE, payload]);
      client.close();
    }
    await world.idle();
    assertEquals(await closedBy(world, "client"), CODES.length);
  });
});

test("what was sent before a close arrives before it", async () => {
  await withTunnel(async (_world, client, engine) => {
    for (let i = 0; i < 20; i++) client.socket.send("x".repeat(200_000));
    client.socket.close(1000);
    await engine.end();
    assertEquals(engine.received.length, 20);
  });
});

test("a client that vanishes closes the engine's socket at once (E1)", async () => {
  await withEngines(1, async (world, [engine]) => {
    const client = await rawTunnel(world.port, hello("/"));
    const side = await engine?.side();
    client.close();
    assertEquals(await side?.end(), { code: 1001, reason: "" });
    await world.idle();
    assertEquals(await closedBy(world, "client_gone"), 1);
    assertEquals(
      await world.metric('tryst_requests_total{outcome="client_gone"}'),
      1,
    );
  });
});

test("a client that vanishes before the engine has accepted is noticed (E1)", async () => {
  const seen = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  await withScript(async (peer) => {
    seen.resolve();
    await peer.closed();
    gone.resolve();
  }, async (world) => {
    const conn = await Deno.connect({
      hostname: "127.0.0.1",
      port: world.port,
    });
    await conn.write(new TextEncoder().encode(hello("/")));
    await within(seen.promise, "the handshake at the engine");
    conn.close();
    await within(gone.promise, "the end at the engine");
    await world.idle();
  });
});

test("an engine that vanishes closes the client's socket with 1001", async () => {
  await withRawEngine(
    async (peer) => {
      await framesAt(peer, 1);
    },
    async (world) => {
      const client = dial(world, "/");
      await client.opened();
      client.socket.send("x");
      assertEquals(await client.end(), { code: 1001, reason: "" });
      await world.idle();
      assertEquals(await closedBy(world, "endpoint_gone"), 1);
      assertEquals(
        await world.metric('tryst_requests_total{outcome="upstream_reset"}'),
        1,
      );
    },
  );
});

test("an engine that breaks the protocol is told so, and the client 1011", async () => {
  const rows: [name: string, code: number, bytes: Uint8Array][] = [
    ["masked", 1002, frame({ opcode: TEXT, isMasked: true }, "x")],
    ["unknown opcode", 1002, frame({ opcode: 3 }, "x")],
    ["stray fragment", 1002, frame({ opcode: 0 }, "x")],
    ["long ping", 1002, frame({ opcode: PING }, "x".repeat(126))],
    ["close without sense", 1002, frame({ opcode: CLOSE }, closing(1006))],
    ["text that is none", 1007, frame({ opcode: TEXT }, "\xff")],
    ["16 MiB and a byte", 1009, claim(MESSAGE_BYTES_MAX + 1)],
  ];
  let row = rows[0];
  let told: unknown;
  await withRawEngine(async (peer) => {
    await peer.send(row?.[2] ?? "");
    const [last] = await framesAt(peer, 1);
    told = last;
  }, async (world) => {
    for (row of rows) {
      told = undefined;
      const client = dial(world, "/");
      const [name, code] = row;
      assertEquals(await client.end(), { code: 1011, reason: "" }, name);
      await world.idle();
      const { opcode, payload } = told as { opcode: number; payload: string };
      assertEquals([opcode, payload.slice(0, 2)], [CLOSE, closing(code)], name);
    }
    assertEquals(await closedBy(world, "endpoint_broken"), rows.length);
  });
});

/** The head of a binary frame, unmasked, whose payload never comes. */
function claim(length: number): Uint8Array {
  const bytes = frame({ opcode: BINARY }, new Uint8Array(65_536)).slice(0, 10);
  new DataView(bytes.buffer).setUint32(6, length);
  return bytes;
}

test("a message of 16 MiB passes both ways", async () => {
  await withTunnel(async (_world, client, engine) => {
    const data = new Uint8Array(MESSAGE_BYTES_MAX).fill(7);
    client.socket.send(data);
    const [back] = await client.messages(1);
    assertEquals(back?.length, MESSAGE_BYTES_MAX);
    assertEquals(engine.received[0]?.length, MESSAGE_BYTES_MAX);
    client.socket.close();
  });
});

test("a client's message over 16 MiB closes it with 1009, the engine with 1001", async () => {
  await withTunnel(async (world, client, engine) => {
    client.socket.send(new Uint8Array(MESSAGE_BYTES_MAX + 1));
    assertEquals((await client.end()).code, 1009);
    assertEquals((await engine.end()).code, 1001);
    assertEquals(engine.received.length, 0);
    await world.idle();
    assertEquals(await closedBy(world, "client_broken"), 1);
    assertEquals(
      await world.metric('tryst_requests_total{outcome="body_too_large"}'),
      1,
    );
  });
});

test("an engine that takes less than is sent closes the client with 1013", async () => {
  const over = Promise.withResolvers<void>();
  await withRawEngine(() => over.promise, async (world) => {
    const client = dial(world, "/");
    await client.opened();
    const megabyte = new Uint8Array(MIB);
    // The queue, the sockets' own buffers and some more.
    for (let i = 0; i < 40; i++) client.socket.send(megabyte);
    try {
      assertEquals((await client.end()).code, 1013);
      await world.idle();
    } finally {
      over.resolve();
    }
    assertEquals(await closedBy(world, "endpoint_slow"), 1);
    const passed = 'tryst_tunnel_messages_total{direction="to_endpoint"}';
    assertLess(await world.metric(passed), 40);
  });
});

test("a client that takes less than is sent slows the engine down", async () => {
  const count = 64;
  let sentCount = 0;
  await withRawEngine(async (peer) => {
    const bytes = frame({ opcode: BINARY }, new Uint8Array(MIB));
    for (; sentCount < count; sentCount++) await peer.send(bytes);
    await peer.send(frame({ opcode: CLOSE }, closing(1000)));
    await peer.closed();
  }, async (world) => {
    const client = await rawTunnel(world.port, hello("/"));
    let before = -1;
    while (before !== sentCount) {
      before = sentCount;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assertLess(sentCount, 32, "the engine was read without bound");
    // Heads of 10 bytes, a close frame, and all that was sent.
    assertEquals(await takeAll(client, count * (MIB + 10) + 4), true);
    await client.send(frame({ opcode: CLOSE, isMasked: true }, closing(1000)));
    await client.closed();
    client.close();
    await world.idle();
    assertEquals(await closedBy(world, "endpoint"), 1);
  });
});

/** Receives at least so many bytes; false when it ends before. */
async function takeAll(peer: Peer, byteCount: number): Promise<boolean> {
  const before = peer.received.length;
  while (peer.received.length - before < byteCount) {
    if (!await within(peer.receive(), "bytes of a slow client")) return false;
  }
  return true;
}

test("a client that leaves while the engine waits for it frees the engine", async () => {
  await withRawEngine(async (peer) => {
    const bytes = frame({ opcode: BINARY }, new Uint8Array(MIB));
    try {
      for (let i = 0; i < 64; i++) await peer.send(bytes);
    } catch {
      // The gateway has closed: that is what the test waits for.
    }
  }, async (world) => {
    const client = await rawTunnel(world.port, hello("/"));
    await new Promise((resolve) => setTimeout(resolve, 100));
    client.close();
    await world.idle();
    assertEquals(await closedBy(world, "client_gone"), 1);
  });
});

test("a silent tunnel outlives every limit on silence", async () => {
  await withTunnel(async (_world, client, engine) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    client.socket.send("still here");
    assertEquals(await client.messages(1), ["still here"]);
    engine.socket.close(1000);
  }, { timeouts: { idle: "100ms", first_byte: "100ms" } });
});

test("a gateway that stops closes both sides with 1001", async () => {
  await withEngines(1, async (world, [engine]) => {
    const clients = [dial(world, "/0"), dial(world, "/1")];
    for (const client of clients) assert(await client.opened());
    const sides = [await engine?.side(0), await engine?.side(1)];
    await world.gateway.stop();
    for (const client of clients) {
      // The runtime may be the first to say so, with a reason of its own.
      assertEquals((await client.end()).code, 1001);
    }
    for (const side of sides) {
      assertEquals(await side?.end(), { code: 1001, reason: "" });
    }
    assertEquals(await closedBy(world, "stopped"), 2);
  });
});

test("a gateway that stops does not wait for sides that do not answer", async () => {
  await withRawEngine(async (peer) => {
    await peer.closed();
  }, async (world) => {
    const client = await rawTunnel(world.port, hello("/"));
    await world.gateway.stop();
    const [last] = await framesAt(client, 1);
    assertEquals(last?.opcode, CLOSE);
    assertEquals(last?.payload.slice(0, 2), closing(1001));
    client.close();
  });
});
