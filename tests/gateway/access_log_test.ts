/**
 * Each request has one record that says how it went, and nothing that a client
 * keeps secret is in any line.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import type { AccessRecord } from "../../src/gateway/access_log.ts";
import {
  accessLine,
  eventLine,
  type LineStyle,
} from "../../src/system/log_format.ts";
import { test } from "../leakproof.ts";
import { RawClient } from "./raw_client.ts";
import { chunkedPost, post } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";
import { type GatewayWorld, withWorld } from "./world.ts";

const STYLES: readonly LineStyle[] = [
  { format: "text", hasPriority: false },
  { format: "json", hasPriority: true },
];

/** One record without what differs from run to run. */
function steady(record: AccessRecord | undefined): Partial<AccessRecord> {
  assert(record !== undefined, "there is no record");
  const { atMs, firstByteMs, queueMs, totalMs, ...rest } = record;
  assert(atMs > 0 && queueMs >= 0 && totalMs >= (firstByteMs ?? 0));
  return rest;
}

/** Everything that a log of level `debug` would hold, in both formats. */
function allLines({ events, phases, records }: GatewayWorld): string {
  return STYLES.flatMap((style) => [
    ...records.map((record) => accessLine(record, style)),
    ...[
      ...events,
      ...phases.map((fields) => ({ event: "request.phase", fields })),
    ].map(({ event, fields }) =>
      eventLine({ atMs: 0, level: "debug", event, fields }, style)
    ),
  ]).join("");
}

test("a request that is served has a record of how it went", async () => {
  await withWorld({ engines: [{}] }, async ({ records, url, idle }) => {
    const body = JSON.stringify({ model: "m1", messages: [] });
    const response = await fetch(`${url}/v1/chat/completions?a=b`, {
      method: "POST",
      headers: {
        "x-session-id": "s1",
        "x-request-id": "mine",
        traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-00`,
      },
      body,
    });
    const answer = await response.arrayBuffer();
    await idle();
    assertEquals(records.map(steady), [{
      isFailure: false,
      requestId: "mine",
      client: "127.0.0.1",
      method: "POST",
      path: "/v1/chat/completions",
      status: 200,
      error: undefined,
      endpoint: "e0",
      affinity: "new",
      keySource: "header:x-session-id",
      session: records[0]?.session,
      attempts: 1,
      bytesIn: body.length,
      bytesOut: answer.byteLength,
      model: records[0]?.model,
      tenant: undefined,
      traceId: "a".repeat(32),
    }]);
    assertEquals(/^[0-9a-f]{8}$/.test(records[0]?.session ?? ""), true);
  });
});

test("the client is whom trusted proxies name, and nobody else", async () => {
  const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const said = "X-Forwarded-For: 203.0.113.9, 192.0.2.7, 10.0.0.2";
  const table: [trusted: string[], lines: string[], client: string][] = [
    [[], [said], "127.0.0.1"],
    [["10.0.0.0/8"], [said], "127.0.0.1"],
    [["127.0.0.1", "10.0.0.0/8"], [said], "192.0.2.7"],
    [["127.0.0.1", "10.0.0.0/8"], [], "127.0.0.1"],
    [["127.0.0.1"], ["X-Forwarded-For: a\u00e4 id=x"], "127.0.0.1"],
    [["127.0.0.1"], ["X-Forwarded-For: [2001:db8::1]:80"], "2001:db8::1"],
  ];
  for (const [trusted, lines, client] of table) {
    await withScript(always(OK), async ({ idle, port, records }) => {
      for (const model of ["m", "n"]) {
        using raw = await RawClient.connect(port);
        await raw.send(post("/v1/x", JSON.stringify({ model }), lines));
        await raw.reply();
      }
      await idle();
      // Who is refused has one too.
      assertEquals(records.map((record) => record.status), [200, 404]);
      assertEquals(records.map((record) => record.client), [client, client]);
    }, {
      models: [["m"], ["o"]],
      config: { forwarding: { trusted_proxies: trusted } },
    });
  }
});

test("bytes are counted both ways, however they are framed", async () => {
  const head = "HTTP/1.1 200 OK\r\n";
  const table: [request: string, answer: string, bytes: number[]][] = [
    [post("/a", "12345"), `${head}Content-Length: 3\r\n\r\nabc`, [5, 3]],
    [
      chunkedPost("/b", ["1234", "5678"]),
      `${head}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`,
      [8, 3],
    ],
    [
      // More than one read of a socket.
      chunkedPost("/large", Array(4).fill("x".repeat(100_000))),
      `${head}Content-Length: 0\r\n\r\n`,
      [400_000, 0],
    ],
    [post("/c", ""), `${head}Content-Length: 0\r\n\r\n`, [0, 0]],
  ];
  for (const [request, answer, bytes] of table) {
    await withScript(always(answer), async ({ idle, port, records }) => {
      using client = await RawClient.connect(port);
      await client.send(request);
      await client.reply();
      await idle();
      const [{ bytesIn, bytesOut } = { bytesIn: -1, bytesOut: -1 }] = records;
      assertEquals([bytesIn, bytesOut], bytes, request);
    });
  }
});

test("failures are told of by what they were", async () => {
  const busy = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
  const absent = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
  const table: [answer: string, status: number, error?: string][] = [
    [busy, 503],
    [absent, 404],
    ["nonsense\r\n\r\n", 502, "upstream_malformed"],
  ];
  for (const [answer, status, error] of table) {
    await withScript(always(answer), async ({ idle, port, records }) => {
      using client = await RawClient.connect(port);
      await client.send(post("/x", "{}"));
      await client.reply();
      await idle();
      const [record] = records;
      assertEquals(records.length, 1);
      assertEquals([record?.status, record?.error], [status, error]);
      assertEquals(record?.isFailure, status >= 500, answer);
    });
  }
});

test("what the gateway answers is counted, and why it refused is told", async () => {
  const table: [request: string, cause: string | undefined][] = [
    [
      post("/a", '{"model":"m"}', ["X-Tryst-Priority: soon"]),
      "The header x-tryst-priority must be a whole number",
    ],
    [post("/b", '{"model":"n"}'), undefined],
  ];
  for (const [request, cause] of table) {
    await withScript(always(""), async ({ events, idle, port, records }) => {
      using client = await RawClient.connect(port);
      await client.send(request);
      const { body } = await client.reply();
      await idle();
      assert(body.length > 0);
      assertEquals(records.map(({ bytesOut }) => bytesOut), [body.length]);
      const failed = events.find(({ event }) => event === "request.failed");
      assertEquals(failed?.fields["cause"], cause);
    }, { models: [["m"], ["o"]] });
  }
});

test("an answer to HEAD has no body, whoever wrote it", async () => {
  await withScript(always(""), async ({ idle, port, records }) => {
    using client = await RawClient.connect(port);
    await client.send(
      "HEAD /x HTTP/1.1\r\nHost: a\r\nX-Tryst-Priority: soon\r\n" +
        "Connection: close\r\n\r\n",
    );
    await client.toEnd();
    await idle();
    assertEquals(records.map(({ bytesOut }) => bytesOut), [0]);
  });
});

test("successes are told of as configured, failures unless none are", async () => {
  const table: [log: Record<string, unknown>, told: string[]][] = [
    [{ access: "all" }, ["/ok", "/missing"]],
    [{ access: "all", sample: 0 }, ["/missing"]],
    [{ access: "failures" }, ["/missing"]],
    [{ access: "none" }, []],
  ];
  for (const [log, told] of table) {
    const options = {
      engines: [{ models: ["m1"] }, { models: ["m2"] }],
      config: { log },
    };
    await withWorld(options, async ({ idle, records, url }) => {
      const ask = async (path: string, model: string) => {
        const body = JSON.stringify({ model });
        const response = await fetch(url + path, { method: "POST", body });
        await response.body?.cancel();
        await idle();
      };
      await ask("/ok", "m1");
      await ask("/missing", "m3");
      assertEquals(records.map(({ path }) => path), told);
    });
  }
});

test("a flood of failures is told of in part, and how many are left out", async () => {
  const options = {
    engines: [{ models: ["m1"] }, { models: ["m2"] }],
  };
  await withWorld(options, async ({ events, idle, port, records }) => {
    const COUNT = 400;
    const request = post("/v1/chat/completions", '{"model":"m3"}');
    using client = await RawClient.connect(port);
    for (let sent = 0; sent < COUNT; sent++) {
      await client.send(request);
      await client.reply();
    }
    await idle();
    // The second may have changed within the flood, some times.
    const told = records.length;
    const failed = events.filter(({ event }) => event === "request.failed");
    assertEquals(failed.length, told, "events are bounded as records are");
    // Nobody asks again: the gateway tells the rest by itself.
    const suppressed = () =>
      events.filter(({ event }) => event === "request.suppressed")
        .reduce((sum, { fields }) => sum + Number(fields["count"]), 0);
    for (let look = 0; look < 400; look++) {
      if (told + suppressed() === COUNT) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assertEquals(told + suppressed(), COUNT);
  });
});

test("no line holds what a client keeps secret", async () => {
  const secret = (name: string) => `SECRET${name}`;
  const headers = [
    `Authorization: Bearer ${secret("bearer")}`,
    `X-Api-Key: ${secret("api-key")}`,
    `Api-Key: ${secret("azure")}`,
    `Cookie: session=${secret("cookie")}`,
    `X-Session-Id: ${secret("session")}`,
    `User-Agent: ${secret("agent")}`,
    `X-Forwarded-For: ${secret("client")}`,
    `Traceparent: ${secret("trace")}`,
    `Tracestate: a=${secret("state")}`,
    `X-Request-Id: not plain ${secret("id")}`,
  ];
  const body = JSON.stringify({
    model: "m1",
    user: secret("user"),
    metadata: { user_id: secret("user-id") },
    session_id: secret("body-session"),
    messages: [{ role: "user", content: secret("prompt") }],
  });
  const query = `?key=${secret("query")}&session=${secret("query-session")}`;
  const targets = [
    `/v1/chat/completions${query}`,
    `/v1/threads/${secret("thread")}/runs${query}`,
  ];
  const answers = [
    `HTTP/1.1 200 OK\r\nSet-Cookie: ${secret("set-cookie")}\r\n` +
    `Content-Length: 10\r\n\r\n${secret("back")}`,
    `nonsense ${secret("answer")}\r\n\r\n`,
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n` +
    `Transfer-Encoding: chunked\r\n\r\n8\r\n${secret("eve")}\r\nxx\r\n`,
    "",
  ];
  const config = {
    session: {
      keys: [
        "path:/v1/threads/{id}/*",
        "query:session",
        "cookie:session",
        "default",
      ],
    },
  };
  for (const answer of answers) {
    await withScript(
      async (peer) => {
        if (answer === "") peer.close();
        else await peer.send(answer);
      },
      async (world) => {
        for (const target of targets) {
          using client = await RawClient.connect(world.port);
          await client.send(
            post(target, body, [...headers, "Connection: close"]),
          );
          await client.toEnd();
        }
        await world.idle();
        assert(world.records.length >= targets.length);
        const lines = allLines(world);
        assertEquals(/.{0,60}SECRET.{0,20}/.exec(lines)?.[0], undefined);
      },
      { config },
    );
  }
});

test("a record names the tenant, and neither record nor event its key", async () => {
  const key = "SECRET-key-0123456789";
  const keys = parseKeyLines(`red:${key}`);
  const secrets = { keys, credentials: new Map() };
  const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  await withScript(always(answer), async (world) => {
    using client = await RawClient.connect(world.port);
    for (const given of [key, `${key}-wrong`]) {
      await client.send(post("/x", "{}", [`Authorization: Bearer ${given}`]));
      await client.reply();
    }
    await world.idle();
    assertEquals(
      world.records.map(({ status, tenant }) => [status, tenant]),
      [[200, "red"], [401, undefined]],
    );
    assert(!allLines(world).includes("SECRET"));
  }, { secrets });
});
