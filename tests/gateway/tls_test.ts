/**
 * A gateway that listens for TLS, by both versions of HTTP.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Certificate, CertificateFolder } from "../certificates.ts";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";
import { withWorld } from "./world.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Looks, 20 ms apart, for what takes well under a second: 10 s at most. */
const LOOKS_MAX = 500;

/** One of two listeners is missed so often once in a million times. */
const SPREAD_LOOKS = 20;

const VERSIONS = [
  { name: "HTTP/2", options: { http1: false } },
  { name: "HTTP/1.1", options: { http2: false } },
] as const;

/** What has the gateway listen for TLS. */
function certified({ certFile, keyFile }: Certificate): {
  readonly tls: Record<string, unknown>;
} {
  return { tls: { "cert_file": certFile, "key_file": keyFile } };
}

async function until(condition: () => boolean | Promise<boolean>) {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("Cannot wait any longer");
}

for (const { name, options } of VERSIONS) {
  test(`${name} over TLS: the engine gets what the client sent`, async () => {
    await using folder = await CertificateFolder.create();
    const made = await folder.make("gateway", ["localhost"]);
    using client = Deno.createHttpClient({ caCerts: [made.cert], ...options });
    let seen = "";
    await withScript(async (peer, request) => {
      seen = request;
      await peer.send(OK);
    }, async ({ port }) => {
      const url = `https://localhost:${port}/v1//a/./b?x=%2f|`;
      const answer = await fetch(url, {
        client,
        headers: { cookie: "a=1; b=2", "x-session-id": "s" },
      });
      assertEquals(await answer.text(), "ok");
      assertMatch(seen, /^GET \/v1\/\/a\/b\?x=%2f\| HTTP\/1\.1\r\n/);
      assertMatch(seen, /\r\ncookie: a=1; b=2\r\n/i);
      assertMatch(seen, /\r\nx-forwarded-proto: https\r\n/);
      // Over HTTP/2 the host comes as `:authority`.
      assert(
        seen.includes(`\r\nx-forwarded-host: localhost:${port}\r\n`),
        seen,
      );
      assertEquals(
        answer.headers.get("x-tryst-key-source"),
        "header:x-session-id",
      );
      assertEquals(answer.headers.get("x-tryst-endpoint"), "e0");
    }, { config: certified(made) });
  });

  test(`${name} over TLS: events come one by one`, async () => {
    await using folder = await CertificateFolder.create();
    const made = await folder.make("gateway");
    using client = Deno.createHttpClient({ caCerts: [made.cert], ...options });
    const { promise: isSeen, resolve: seeFirst } = Promise.withResolvers<
      void
    >();
    await withScript(async (peer) => {
      await peer.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
      );
      await isSeen;
      await peer.send("data: 2\n\n");
      peer.close();
    }, async ({ url }) => {
      const answer = await fetch(`${url}/events`, { client });
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) {
        text += decoder.decode(chunk);
        if (text === "data: 1\n\n") seeFirst();
      }
      assertEquals(text, "data: 1\n\ndata: 2\n\n");
    }, { config: certified(made) });
  });

  test(`${name} over TLS: large bodies arrive whole`, async () => {
    await using folder = await CertificateFolder.create();
    const made = await folder.make("gateway");
    using client = Deno.createHttpClient({ caCerts: [made.cert], ...options });
    await withWorld(
      { engines: [{}], config: certified(made) },
      async (world) => {
        const prompt = "x".repeat(6_000_000);
        const answer = await fetch(`${world.url}/v1/completions?large`, {
          method: "POST",
          client,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ "session_id": "s", prompt, "max_tokens": 1 }),
        });
        await answer.body?.cancel();
        assertEquals(answer.status, 200);
        assertEquals(
          answer.headers.get("x-tryst-key-source"),
          "body:session_id",
        );
        const { bodyByteCount } = world.seen("/v1/completions?large");
        assert(bodyByteCount > 6_000_000, `${bodyByteCount}`);
      },
    );
  });

  test(`${name} over TLS: a client that leaves is noticed`, async () => {
    await using folder = await CertificateFolder.create();
    const made = await folder.make("gateway");
    using client = Deno.createHttpClient({ caCerts: [made.cert], ...options });
    const { promise: hasCome, resolve: come } = Promise.withResolvers<void>();
    const { promise: hasLeft, resolve: leave } = Promise.withResolvers<void>();
    await withScript(async (peer, request) => {
      if (!request.startsWith("GET /slow ")) return;
      come();
      await peer.closed();
      leave();
    }, async ({ url }) => {
      const giveUp = new AbortController();
      const asked = fetch(`${url}/slow`, { client, signal: giveUp.signal });
      const failed = assertRejects(() => asked);
      await hasCome;
      giveUp.abort();
      await failed;
      await hasLeft;
    }, { config: certified(made) });
  });
}

test("a changed certificate is taken, and what is open goes on", async () => {
  await using folder = await CertificateFolder.create();
  const made = await folder.make("gateway");
  const { promise: isChanged, resolve: change } = Promise.withResolvers<void>();
  await withScript(async (peer, request) => {
    if (!request.startsWith("GET /long ")) return await peer.send(OK);
    await peer.send(
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n",
    );
    await isChanged;
    await peer.send("data: 2\n\n");
    peer.close();
  }, async ({ events, url }) => {
    using before = Deno.createHttpClient({ caCerts: [made.cert] });
    const long = await fetch(`${url}/long`, { client: before });
    const unlike = await folder.make("unlike");
    await Deno.writeTextFile(made.keyFile, unlike.key);
    // A key that is not the certificate's changes nothing.
    await until(() => events.some(({ event }) => event === "tls.refused"));
    assertEquals(await status(url, [made.cert]), 200);
    const next = await folder.make("gateway");
    assert(next.cert !== made.cert);
    await until(() => events.some(({ event }) => event === "tls.reloaded"));
    // Connections are spread over both for some seconds more.
    await until(() => isShown(url, next.cert));
    await until(async () => {
      for (let look = 0; look < SPREAD_LOOKS; look++) {
        if (await isShown(url, made.cert)) return false;
      }
      return true;
    });
    change();
    assertEquals(await long.text(), "data: 1\n\ndata: 2\n\n");
  }, { config: certified(made) });
});

/** Whether a client that knows one certificate alone gets an answer. */
async function isShown(url: string, cert: string): Promise<boolean> {
  try {
    return await status(url, [cert]) === 200;
  } catch {
    return false;
  }
}

/** The status that a client with connections of its own gets. */
async function status(url: string, caCerts: string[]): Promise<number> {
  using client = Deno.createHttpClient({ caCerts });
  const answer = await fetch(`${url}/x`, { client });
  await answer.body?.cancel();
  return answer.status;
}

test("plain HTTP is sent on to HTTPS, path and all", async () => {
  await using folder = await CertificateFolder.create();
  const made = await folder.make("gateway");
  const { tls } = certified(made);
  const config = { tls: { ...tls, "redirect_listen": "127.0.0.1:0" } };
  await withScript(always(OK), async ({ gateway, port }) => {
    const plain = gateway.redirectPort ?? 0;
    const table: [
      target: string,
      host: string,
      location: string | undefined,
    ][] = [
      ["/a/../b?x=|", "gw.example", `https://gw.example:${port}/a/../b?x=|`],
      ["/", "gw.example:80", `https://gw.example:${port}/`],
      ["/", "[::1]:80", `https://[::1]:${port}/`],
      ["//evil", "gw.example", `https://gw.example:${port}//evil`],
      ["/", "a/b", undefined],
      ["/", "a@b", undefined],
      ["/", "", undefined],
    ];
    for (const [target, host, location] of table) {
      const reply = await call(
        plain,
        `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n` +
          "Connection: close\r\nContent-Length: 0\r\n\r\n",
      );
      assertEquals(reply.headers.get("location"), location, host);
      assertEquals(reply.status, location === undefined ? 400 : 308);
    }
    using client = await RawClient.connect(port);
    await client.send(bare("GET", "/x"));
    // Who speaks plain HTTP to TLS gets no answer.
    assert(!(await client.toEnd()).startsWith("HTTP/1.1 200"));
  }, { config });
});
