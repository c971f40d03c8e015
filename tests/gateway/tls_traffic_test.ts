/**
 * What is special about a connection, over TLS: tunnels, trailers, large
 * bodies both ways, and connections that outlive a certificate.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import http2 from "node:http2";
import { type Certificate, CertificateFolder } from "../certificates.ts";
import { test } from "../leakproof.ts";
import { lacks } from "./old_listener.ts";
import { RawClient } from "./raw_client.ts";
import { bare } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";
import { frame } from "./websocket_frames.ts";
import { hello } from "./websocket_hello.ts";
import { withEngines } from "./websocket_pair.ts";
import { within } from "./websocket_side.ts";
import type { GatewayWorld } from "./world.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** 16 MiB: far above every buffer between client and engine. */
const LARGE_BYTES = 2 ** 24;

const CHUNK_BYTES = 2 ** 16;

/** Looks, 20 ms apart: 10 s at most. */
const LOOKS_MAX = 500;

const TEXT = 1;

/** A close frame with code 1001 (RFC 6455, 7.4.1). */
const GOING_AWAY = /\x88[^]{2}\xe9/;

/** Twice what a former listener takes. */
const GONE_MS_MAX = 10_000;

/** Runs `body` with a certificate, and a configuration that uses it. */
async function withCertificate(
  body: (
    config: Record<string, unknown>,
    made: Certificate,
    renew: () => Promise<Certificate>,
  ) => Promise<void>,
): Promise<void> {
  await using folder = await CertificateFolder.create();
  const made = await folder.make("gateway");
  const tls = { "cert_file": made.certFile, "key_file": made.keyFile };
  await body({ tls }, made, () => folder.make("gateway"));
}

async function untilReloaded({ events }: GatewayWorld): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (events.some(({ event }) => event === "tls.reloaded")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("Cannot see another certificate taken");
}

test("a WebSocket by TLS is a tunnel, and told when its listener goes", async () => {
  await withCertificate(async (config, made, renew) => {
    await withEngines(1, async (world, [engine]) => {
      using client = await RawClient.connectTls(world.port, [made.cert]);
      await client.send(hello("/v1/realtime?model=m"));
      assertMatch(await client.until(/\r\n\r\n/), /^HTTP\/1.1 101 /);
      await client.send(frame({ opcode: TEXT, isMasked: true }, "one"));
      await client.until(/one$/);
      await renew();
      await untilReloaded(world);
      // The former listener lives for some seconds more.
      await client.send(frame({ opcode: TEXT, isMasked: true }, "two"));
      await client.until(/two$/);
      assertEquals(engine?.sides[0]?.received, ["one", "two"]);
      if (lacks("tunnelFarewell") !== undefined) return;
      await client.until(GOING_AWAY, GONE_MS_MAX);
    }, { config });
  });
});

test("a connection that is kept is left, not cut, when certificates change", async () => {
  await withCertificate(async (config, made, renew) => {
    await withScript(always(OK), async (world) => {
      using client = await RawClient.connectTls(world.port, [made.cert]);
      await client.send(bare("GET", "/1"));
      const first = await client.reply();
      assertEquals([first.status, first.headers.get("connection")], [
        200,
        undefined,
      ]);
      await renew();
      await untilReloaded(world);
      await client.send(bare("GET", "/2"));
      const second = await client.reply();
      assertEquals([second.status, second.headers.get("connection")], [
        200,
        "close",
      ]);
    }, { config });
  });
});

/** One exchange by HTTP/2, with Node's client. */
async function ask(
  url: string,
  cert: string,
  options: { readonly headers: http2.OutgoingHttpHeaders; bytes: number },
): Promise<{ status: number; byteCount: number; trailers: object }> {
  const session = http2.connect(url, { ca: cert });
  const { promise, resolve, reject } = Promise.withResolvers<
    { status: number; byteCount: number; trailers: object }
  >();
  session.on("error", reject);
  const stream = session.request(options.headers, { endStream: false });
  let status = 0;
  let byteCount = 0;
  let trailers = {};
  stream.on("response", (headers) => status = Number(headers[":status"]));
  stream.on("data", (chunk: Uint8Array) => byteCount += chunk.length);
  stream.on("trailers", (fields) => trailers = fields);
  stream.on("error", reject);
  stream.on("end", () => resolve({ status, byteCount, trailers }));
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES, "x");
    for (let sent = 0; sent < options.bytes; sent += CHUNK_BYTES) {
      if (stream.write(chunk)) continue;
      const drained = Promise.withResolvers<void>();
      stream.once("drain", drained.resolve);
      await within(drained.promise, "room for more of a body");
    }
    stream.end();
    return await within(promise, "the end of an answer");
  } finally {
    session.destroy();
  }
}

test(
  "HTTP/2: a body of 16 MiB passes whole, with a length and without",
  async () => {
    await withCertificate(async (config, made) => {
      const seen: string[] = [];
      await withScript(async (peer, request) => {
        const head = request.slice(0, request.indexOf("\r\n\r\n"));
        const length = /^content-length: (\d+)$/im.exec(head)?.[1] ?? "none";
        const bytes = request.length - head.length - 4;
        seen.push(`${length} ${bytes >= LARGE_BYTES}`);
        await peer.send(OK);
      }, async ({ url }) => {
        for (const length of [String(LARGE_BYTES), undefined]) {
          const headers = {
            ":method": "POST",
            ":path": "/v1/files",
            "content-type": "application/octet-stream",
            ...(length === undefined ? {} : { "content-length": length }),
          };
          const answer = await ask(url, made.cert, {
            headers,
            bytes: LARGE_BYTES,
          });
          assertEquals([answer.status, answer.byteCount], [200, 2]);
        }
        assertEquals(seen, [`${LARGE_BYTES} true`, "none true"]);
      }, { config });
    });
  },
  { ignore: lacks("http2Client") !== undefined },
);

test(
  "HTTP/2: an answer of 16 MiB passes whole, its trailers do not",
  async () => {
    await withCertificate(async (config, made) => {
      await withScript(async (peer) => {
        await peer.send(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" +
            "Trailer: x-sum\r\n\r\n",
        );
        const size = CHUNK_BYTES.toString(16);
        const chunk = `${size}\r\n${"x".repeat(CHUNK_BYTES)}\r\n`;
        for (let sent = 0; sent < LARGE_BYTES; sent += CHUNK_BYTES) {
          await peer.send(chunk);
        }
        await peer.send("0\r\nX-Sum: 1\r\n\r\n");
      }, async ({ url }) => {
        const answer = await ask(url, made.cert, {
          headers: { ":method": "POST", ":path": "/", te: "trailers" },
          bytes: 0,
        });
        assertEquals(answer, {
          status: 200,
          byteCount: LARGE_BYTES,
          trailers: {},
        });
      }, { config });
    });
  },
  { ignore: lacks("http2Client") !== undefined },
);

test("HTTP/2: trailers of a request are no part of its body", async () => {
  await withCertificate(async (config, made) => {
    let seen = "";
    await withScript(async (peer, request) => {
      seen = request;
      await peer.send(OK);
    }, async ({ url }) => {
      const session = http2.connect(url, { ca: made.cert });
      const stream = session.request({
        ":method": "POST",
        ":path": "/v1/x",
        "content-type": "application/json",
      }, { waitForTrailers: true, endStream: false });
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "1" }));
      stream.on("error", reject);
      stream.on("data", () => {});
      stream.on("end", resolve);
      try {
        stream.end('{"session_id": "s"}');
        await within(promise, "the end of an answer");
      } finally {
        session.destroy();
      }
      assert(seen.includes('{"session_id": "s"}'), seen);
      assertEquals(/x-sum/i.test(seen), false);
    }, { config });
  });
}, { ignore: lacks("http2Client") !== undefined });
