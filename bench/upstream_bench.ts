/**
 * What a request through the upstream client costs.
 *
 * The engine is a raw loop on loopback in the same thread, so its read and
 * write are in the figures; `floor` is the same exchange with nothing around
 * the sockets, and the difference is the client's own.
 *
 * Invariant: every row sends the same 1 KiB POST and reads 500 bytes, or says
 * otherwise in its name.
 *
 * @module
 */
import type { BodySource } from "../src/core/body.ts";
import type { Address, Clock } from "../src/core/outside.ts";
import { createDial } from "../src/system/dial.ts";
import { UpstreamClient } from "../src/upstream/client.ts";

const encoder = new TextEncoder();
const BODY = new Uint8Array(1024).fill(0x61);
const BULK_BYTES = 4 * 1024 * 1024;
const RESPONSE = encoder.encode(
  "HTTP/1.1 200 OK\r\ndate: Sat, 01 Aug 2026 12:00:00 GMT\r\n" +
    "server: uvicorn\r\ncontent-length: 500\r\n" +
    "content-type: application/json\r\n\r\n" + "a".repeat(500),
);
const BULK = concat(
  encoder.encode(`HTTP/1.1 200 OK\r\ncontent-length: ${BULK_BYTES}\r\n\r\n`),
  new Uint8Array(BULK_BYTES),
);
const HEADERS = [
  ["host", "127.0.0.1:8000"],
  ["content-type", "application/json"],
  ["accept", "*/*"],
  ["user-agent", "bench"],
  ["authorization", "Bearer none"],
  ["x-request-id", "0123456789abcdef"],
] as const;

const clock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

/** Answers every read that ends a request; serves until the bench is over. */
function serve(response: Uint8Array): Address & { kind: "tcp" } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  (async () => {
    for await (const conn of listener) answer(conn, response);
  })();
  const { hostname, port } = listener.addr as Deno.NetAddr;
  return { kind: "tcp", hostname, port, tls: false };
}

async function answer(conn: Deno.TcpConn, response: Uint8Array): Promise<void> {
  conn.setNoDelay(true);
  const buffer = new Uint8Array(65_536);
  while (await conn.read(buffer) !== null) {
    let at = 0;
    while (at < response.length) at += await conn.write(response.subarray(at));
  }
  conn.close();
}

async function drain(body: BodySource): Promise<void> {
  while (await body.read() !== undefined);
}

const small = serve(RESPONSE);
const bulk = serve(BULK);
const client = new UpstreamClient({ clock, dial: createDial() });

async function post(address: Address): Promise<void> {
  const { response } = client.start({
    address,
    method: "POST",
    target: "/v1/chat/completions",
    headers: HEADERS,
    body: BODY,
  });
  const { body } = await response;
  if (body !== undefined && "read" in body) await drain(body);
}

const floorConn = await Deno.connect({ port: small.port });
floorConn.setNoDelay(true);
const floorRequest = concat(
  encoder.encode(
    "POST /v1/chat/completions HTTP/1.1\r\n" +
      HEADERS.map(([name, value]) => `${name}: ${value}\r\n`).join("") +
      "content-length: 1024\r\n\r\n",
  ),
  BODY,
);
const floorBuffer = new Uint8Array(16_384);

Deno.bench("floor: one write, one read", {
  group: "1 KiB POST, 500 bytes back",
  baseline: true,
}, async () => {
  await floorConn.write(floorRequest);
  await floorConn.read(floorBuffer);
});

Deno.bench("upstream client", {
  group: "1 KiB POST, 500 bytes back",
}, async () => {
  await post(small);
});

Deno.bench("upstream client, 32 at once", {
  group: "32 at once",
}, async () => {
  await Promise.all(Array.from({ length: 32 }, () => post(small)));
});

Deno.bench("upstream client, 4 MiB back", { group: "bulk" }, async () => {
  await post(bulk);
});
