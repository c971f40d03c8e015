/**
 * Requests that two parsers could read in two ways (D3: h2o #3342, pound #26,
 * haproxy #2237, envoy #9016): refused, never repaired, never forwarded.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import { lacks } from "./old_listener.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare } from "./requests.ts";
import { withWorld } from "./world.ts";

/** A request hidden where a body of another reading would end. */
const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

/** One head each, without its end; `HIDDEN` stands behind. */
const AMBIGUOUS: readonly (readonly [name: string, head: string])[] = [
  [
    "length and chunks",
    post("Content-Length: 5", "Transfer-Encoding: chunked"),
  ],
  [
    "chunks and length",
    post("Transfer-Encoding: chunked", "Content-Length: 5"),
  ],
  ["two lengths", post("Content-Length: 0", "Content-Length: 5")],
  ["a list of lengths", post("Content-Length: 0, 5")],
  ["a negative length", post("Content-Length: -1")],
  ["a signed length", post("Content-Length: +5")],
  ["a hexadecimal length", post("Content-Length: 0x5")],
  ["an empty length", post("Content-Length: ")],
  ["a length with a blank", post("Content-Length: 1 2")],
  ["a length beyond 64 bits", post("Content-Length: 99999999999999999999")],
  ["an unknown coding", post("Transfer-Encoding: gzip")],
  ["chunked twice", post("Transfer-Encoding: chunked, chunked")],
  ["an unknown word", post("Transfer-Encoding: xchunked")],
  ["identity", post("Transfer-Encoding: identity")],
  [
    "a second coding",
    post("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
  ],
  ["a blank before the colon", post("Content-Length : 5")],
  ["a folded line", post("X-A: 1\r\n Content-Length: 5")],
  ["a field without a colon", post("Content-Length 5")],
  ["a NUL in a value", post("X-A: a\0b")],
  ["a bare CR in a value", post("X-A: a\rContent-Length: 5")],
  ["two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n"],
  ["no version", "GET /\r\nHost: a\r\n"],
  ["another version", "GET / HTTP/3.0\r\nHost: a\r\n"],
  ["a blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n"],
  ["a control byte in the target", "GET /a\x01b HTTP/1.1\r\nHost: a\r\n"],
  ["a method that is no token", "GE(T / HTTP/1.1\r\nHost: a\r\n"],
];

/** Heads with one end and one body, that still cannot be forwarded. */
const UNFORWARDABLE: readonly (readonly [
  name: string,
  head: string,
  body?: string,
])[] = [
  ["two codings", post("Transfer-Encoding: gzip, chunked"), "0\r\n\r\n"],
  ["a host with a path", "GET /x HTTP/1.1\r\nHost: a/b\r\n"],
  ["a host with a blank", "GET /x HTTP/1.1\r\nHost: a b\r\n"],
  ["a host with a comma", "GET /x HTTP/1.1\r\nHost: a,b\r\n"],
  ["CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n"],
];

function post(...fields: readonly string[]): string {
  return `POST /x HTTP/1.1\r\nHost: gateway\r\n${fields.join("\r\n")}\r\n`;
}

test("ambiguous requests are answered 400 and closed; none reaches an engine (D3)", async (t) => {
  await withWorld({ engines: [{}] }, async ({ port, engines }) => {
    const before = engines[0]?.stats.requestCount;
    for (const [name, head] of AMBIGUOUS) {
      await t.step(name, async () => {
        using client = await RawClient.connect(port);
        await client.send(`${head}\r\n${HIDDEN}`);
        const text = await client.toEnd(1_000);
        assertMatch(text, /^HTTP\/1\.1 400 /);
        assertEquals(text.match(/HTTP\/1\.1 /g)?.length, 1, text);
      });
    }
    assertEquals(engines[0]?.stats.requestCount, before);
    assertEquals((await call(port, bare("GET", "/health"))).status, 200);
  });
});

test("what cannot be forwarded is answered 400 and closed too (D3)", async (t) => {
  await withWorld({ engines: [{}] }, async ({ port, engines }) => {
    const before = engines[0]?.stats.requestCount;
    for (const [name, head, body = ""] of UNFORWARDABLE) {
      await t.step(name, async () => {
        using client = await RawClient.connect(port);
        await client.send(`${head}\r\n${body}${HIDDEN}`);
        const text = await client.toEnd(1_000);
        assertMatch(text, /^HTTP\/1\.1 400 /);
        assertEquals(text.match(/HTTP\/1\.1 /g)?.length, 1, text);
        // Deno 2.7 refuses some of these itself, without a word.
        if (text.includes("{")) assertMatch(text, /"request_malformed"/);
      });
    }
    assertEquals(engines[0]?.stats.requestCount, before);
  });
});

test(
  "a head over the limit is refused with a status, and closed (D12)",
  async () => {
    await withWorld({ engines: [{}] }, async ({ port, engines }) => {
      const fits = bare("GET", "/echo", [`X-Long: ${"x".repeat(30_000)}`]);
      assertEquals((await call(port, fits)).status, 200);
      const before = engines[0]?.stats.requestCount;
      using client = await RawClient.connect(port);
      const request = bare("GET", "/x", [`X-Long: ${"x".repeat(100_000)}`]);
      // The connection may be closed before all of it is sent.
      await client.send(request).catch(() => {});
      const text = await client.toEnd();
      assert(text === "" || /^HTTP\/1\.1 4\d\d /.test(text), text);
      assertEquals(engines[0]?.stats.requestCount, before);
    });
  },
  { ignore: lacks("boundedHead") !== undefined },
);
