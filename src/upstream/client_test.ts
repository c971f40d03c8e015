import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import {
  MemoryNetwork,
  type Script,
  VirtualClock,
} from "../../tests/memory_sockets.ts";
import type { Address } from "../core/outside.ts";
import {
  UpstreamClient,
  type UpstreamClientOptions,
  UpstreamError,
  type UpstreamErrorKind,
  type UpstreamExchange,
  type UpstreamRequest,
} from "./client.ts";

const ADDRESS: Address = {
  kind: "tcp",
  hostname: "127.0.0.1",
  port: 1,
  tls: false,
};

interface World {
  readonly clock: VirtualClock;
  readonly network: MemoryNetwork;
  readonly client: UpstreamClient;
}

/** A client in front of endpoints that play `scripts`, dial by dial. */
function world(
  scripts: readonly (Script | "hang" | "refuse")[] = [],
  options: UpstreamClientOptions = {},
): World {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(scripts);
  const client = new UpstreamClient({ clock, dial: network.dial }, options);
  return { clock, network, client };
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

const SMALL = bytes("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");

function start(
  client: UpstreamClient,
  changes: Partial<UpstreamRequest> = {},
): UpstreamExchange {
  return client.start({
    address: ADDRESS,
    method: "POST",
    target: "/v1/x",
    headers: [["host", "a"]],
    body: bytes("{}"),
    ...changes,
  });
}

/** Asserts what an exchange fails with. */
async function fails(
  exchange: UpstreamExchange,
  kind: UpstreamErrorKind,
  sent: boolean,
): Promise<void> {
  const error = await assertRejects(() => exchange.response, UpstreamError);
  assertEquals([error.kind, error.sent], [kind, sent], error.message);
  assertEquals(exchange.bytesSent, sent);
}

test("start() throws before anything is opened", () => {
  const { client, network, clock } = world();
  assertThrows(() => start(client, { target: "/a b" }), TypeError);
  assertEquals([network.sockets.length, clock.timerCount], [0, 0]);
  client.close();
  assertThrows(() => start(client), Error, "client is closed");
});

test("start() sends a small request in one write", async () => {
  const { client, network } = world([[SMALL]]);
  const { status, body } = await start(client).response;
  assertEquals([status, body], [200, bytes("hi")]);
  assertEquals(network.sockets[0]?.written, [
    bytes("POST /v1/x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}"),
  ]);
  client.close();
});

test("the newest idle connection is taken first", async () => {
  const { client, network } = world();
  const first = start(client);
  const second = start(client);
  await Promise.resolve();
  const [a, b] = network.sockets;
  assert(a !== undefined && b !== undefined);
  b.push(SMALL);
  await second.response;
  a.push(SMALL);
  await first.response;
  assertEquals([client.idleCount, client.openCount], [2, 2]);
  a.push(SMALL);
  await start(client).response;
  assertEquals([a.written.length, b.written.length], [2, 1]);
  client.close();
  assertEquals([client.idleCount, client.openCount], [0, 0]);
});

test("an address is known by its value", async () => {
  const { client, network } = world([[SMALL], [SMALL], [SMALL]]);
  await start(client, { address: { ...ADDRESS } }).response;
  const again = start(client, { address: { ...ADDRESS } });
  network.sockets[0]?.push(SMALL);
  await again.response;
  assertEquals(network.sockets.length, 1);
  await start(client, { address: { ...ADDRESS, tls: true } }).response;
  await start(client, { address: { kind: "unix", path: "/a" } }).response;
  assertEquals(network.sockets.length, 3);
  client.close();
});

test("idle connections are closed at 4 s and the timer stops", async () => {
  const { client, network, clock } = world([[SMALL]]);
  await start(client).response;
  await clock.advance(3_000);
  assertEquals(network.sockets[0]?.isClosed, false);
  await clock.advance(1_999);
  assertEquals(network.sockets[0]?.isClosed, true);
  assertEquals([client.idleCount, client.openCount], [0, 0]);
  await clock.advance(2_000);
  assertEquals(clock.timerCount, 0);
  client.close();
});

test("F3: a connection as old as the limit is not used", async () => {
  for (const [idleMs, dials] of [[3_999, 1], [4_000, 2], [4_001, 2]] as const) {
    const { clock, network } = world([[SMALL], [SMALL]]);
    // A clock that jumps stands for an event loop that was kept busy.
    let skippedMs = 0;
    const client = new UpstreamClient({
      clock: {
        nowMs: () => clock.nowMs() + skippedMs,
        after: (delayMs, callback) => clock.after(delayMs, callback),
      },
      dial: network.dial,
    });
    await start(client).response;
    skippedMs = idleMs;
    const again = start(client);
    if (dials === 1) network.sockets[0]?.push(SMALL);
    await again.response;
    assertEquals(network.sockets.length, dials, `idle for ${idleMs} ms`);
    client.close();
  }
});

test("idle connections to one address are bounded", async () => {
  const { client, network } = world();
  const exchanges = Array.from({ length: 257 }, () => start(client));
  await Promise.resolve();
  for (const socket of network.sockets) socket.push(SMALL);
  await Promise.all(exchanges.map(({ response }) => response));
  assertEquals([client.idleCount, client.openCount], [256, 256]);
  assertEquals(network.sockets[0]?.isClosed, true);
  client.close();
});

test("an idle connection goes when the engine ends it or speaks", async () => {
  const rows: readonly Script[] = [[null], [new Error("reset")], [bytes("x")]];
  for (const script of rows) {
    const { client, network, clock } = world([[SMALL]]);
    await start(client).response;
    network.sockets[0]?.push(...script);
    await clock.advance(0);
    assertEquals([client.idleCount, client.openCount], [0, 0]);
    assertEquals(network.sockets[0]?.isClosed, true);
    client.close();
  }
});

test("a connection is kept only after a clean end", async () => {
  const rows: readonly (readonly [name: string, text: string])[] = [
    ["stray bytes", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP"],
    ["stray bytes after no body", "HTTP/1.1 204 No\r\n\r\nx"],
    [
      "stray bytes after the last chunk",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nx",
    ],
    [
      "close",
      "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    ],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi"],
    [
      "a 204 that frames a body",
      "HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\n",
    ],
  ];
  for (const [name, text] of rows) {
    const { client, network } = world([[bytes(text)]]);
    await start(client).response;
    assertEquals([client.idleCount, client.openCount], [0, 0], name);
    assertEquals(network.sockets[0]?.isClosed, true, name);
    client.close();
  }
});

test("an endpoint that cannot be dialed is unreachable, unsent", async () => {
  const { client } = world(["refuse"]);
  await fails(start(client), "unreachable", false);
  assertEquals([client.inFlightCount, client.openCount], [0, 0]);
  client.close();
});

test("connecting is given up after its limit", async () => {
  const { client, clock } = world(["hang"]);
  const exchange = start(client);
  const failed = fails(exchange, "connect_timeout", false);
  await clock.advance(2_999);
  assertEquals(client.inFlightCount, 1);
  await clock.advance(1_001);
  await failed;
  client.close();
});

test("the first byte is waited for without limit unless one is set", async () => {
  const HOUR_MS = 3_600_000;
  const patient = world();
  const slow = start(patient.client);
  await patient.clock.advance(HOUR_MS);
  patient.network.sockets[0]?.push(SMALL);
  assertEquals((await slow.response).status, 200);
  patient.client.close();

  const { client, clock } = world([], { firstByteMs: 8_000 });
  const failed = fails(start(client), "first_byte_timeout", true);
  await clock.advance(7_999);
  assertEquals(client.inFlightCount, 1);
  await clock.advance(2_001);
  await failed;
  client.close();
});

test("an interim response is not the first byte of the final one", async () => {
  const { client, clock } = world(
    [[bytes("HTTP/1.1 103 Early\r\n\r\n")]],
    { firstByteMs: 8_000, idleMs: 2_000 },
  );
  const failed = fails(start(client), "first_byte_timeout", true);
  await clock.advance(7_000);
  assertEquals(client.inFlightCount, 1);
  await clock.advance(3_000);
  await failed;
  client.close();
});

test("silence within a head or a gathered body is an idle timeout", async () => {
  for (
    const text of [
      "HTTP/1.1 20",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nh",
    ]
  ) {
    const { client, clock } = world([[bytes(text)]]);
    const failed = fails(start(client), "idle_timeout", true);
    await clock.advance(299_000);
    assertEquals(client.inFlightCount, 1);
    await clock.advance(3_000);
    await failed;
    client.close();
  }
});

test("silence within a streamed body counts only while it is read", async () => {
  const head = bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  const { client, clock, network } = world([[head]], { idleMs: 2_000 });
  const { body } = await start(client).response;
  assert(body !== undefined && "read" in body);
  await clock.advance(60_000);
  const read = body.read();
  network.sockets[0]?.push(bytes("1\r\na\r\n"));
  assertEquals(await read, bytes("a"));
  await clock.advance(60_000);
  const failed = assertRejects(() => body.read(), UpstreamError);
  await clock.advance(1_999);
  assertEquals(client.inFlightCount, 1);
  await clock.advance(1_001);
  assertEquals((await failed).kind, "idle_timeout");
  await assertRejects(() => body.read(), UpstreamError);
  client.close();
});

test("an upload that is not taken is an idle timeout", async () => {
  const { client, clock, network } = world([], { idleMs: 2_000 });
  const exchange = start(client, { body: new Uint8Array(1_000_000) });
  const failed = fails(exchange, "idle_timeout", true);
  await Promise.resolve();
  const [socket] = network.sockets;
  assert(socket !== undefined);
  socket.stallsWrites = true;
  await clock.advance(3_000);
  await failed;
  assertEquals(socket.isClosed, true);
  client.close();
});

test("a client that is slow to send its body runs into no limit", async () => {
  const { client, clock, network } = world([], {
    idleMs: 2_000,
    firstByteMs: 2_000,
  });
  const slow = Promise.withResolvers<Uint8Array | undefined>();
  const rest = {
    length: undefined,
    read: () => slow.promise,
    cancel: () => slow.resolve(undefined),
  };
  const exchange = start(client, { body: { held: [], rest } });
  await clock.advance(60_000);
  slow.resolve(undefined);
  await clock.advance(0);
  network.sockets[0]?.push(SMALL);
  assertEquals((await exchange.response).status, 200);
  client.close();
});

test("close() ends what is connecting, waiting and streaming", async () => {
  const head = bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  const { client, clock, network } = world([[head], [], "hang"]);
  const { body } = await start(client).response;
  assert(body !== undefined && "read" in body);
  const waiting = fails(start(client), "aborted", true);
  const connecting = fails(start(client), "aborted", false);
  await clock.advance(0);
  client.close();
  await waiting;
  await connecting;
  const error = await assertRejects(() => body.read(), UpstreamError);
  assertEquals(error.kind, "aborted");
  assertEquals(network.sockets.map(({ isClosed }) => isClosed), [true, true]);
  assertEquals(
    [client.inFlightCount, client.openCount, clock.timerCount],
    [0, 0, 0],
  );
});

test("a body refuses a second read while one waits", async () => {
  const head = bytes("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  const { client, network } = world([[head]]);
  const { body } = await start(client).response;
  assert(body !== undefined && "read" in body);
  const read = body.read();
  await assertRejects(() => body.read(), TypeError, "Cannot read a body twice");
  network.sockets[0]?.push(bytes("1\r\na\r\n0\r\n\r\n"));
  assertEquals(await read, bytes("a"));
  assertEquals(await body.read(), undefined);
  body.cancel();
  assertEquals(client.idleCount, 1);
  client.close();
});
