/**
 * Errors over the whole path: the engine's pass as they are, the gateway's own
 * say what happened, and neither tells what is private.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import type { Reply } from "./reply.ts";
import { bare, chunkedPost, post } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";
import { type GatewayWorld, withWorld } from "./world.ts";

/** What every answer carries, and what it looks like. */
const OWN_HEADERS: readonly (readonly [name: string, value: RegExp])[] = [
  ["x-request-id", /^[\x21-\x7e]+$/],
  ["x-tryst-endpoint", /^(none|[\w.-]+)$/],
  ["x-tryst-affinity", /^(none|new|hit|moved|spilled)$/],
  ["x-tryst-key-source", /^(none|\w+:.+)$/],
  ["x-tryst-attempts", /^\d+$/],
];

/** Session keys and credentials; none may show anywhere but upstream. */
const SECRETS = ["hush-session-1", "hush-session-2", "hush-token"];

function answerOf(status: number, type: string, body: string): string {
  return `HTTP/1.1 ${status} Odd Reason\r\nContent-Type: ${type}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
}

test("errors of the engine pass with status, type and body (AB #2578, #2594, #671, #1006, #858, #1111, #1070; PS #839)", async () => {
  const answers: readonly (readonly [number, string, string])[] = [
    [
      400,
      "application/json",
      '{"error":{"message":"top_p","param":"top_p","code":400}}',
    ],
    [401, "application/json", '{"error":"Unauthorized"}'],
    [404, "text/html", "<h1>no</h1>"],
    [422, "application/json", '{"detail":[]}'],
    [429, "application/json", "{}"],
    [500, "text/plain", "boom"],
    [503, "text/plain", "upstream connect error"],
    [529, "application/json", '{"type":"error"}'],
    [599, "text/plain", ""],
  ];
  for (const answer of answers) {
    await withScript(always(answerOf(...answer)), async ({ port }) => {
      const bodies = ["{}", '{"stream":true}', '{"session_id":"s"}'];
      for (const body of bodies) {
        const reply = await call(port, post("/v1/chat/completions", body));
        const type = reply.headers.get("content-type");
        assertEquals([reply.status, type ?? "", reply.body], answer);
        assertEquals(reply.headers.get("x-tryst-error"), undefined);
        assertEquals(reply.headers.get("x-tryst-endpoint"), "e0");
      }
    });
  }
});

test("Retry-After of the engine passes", async () => {
  const answer = "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\n" +
    "Content-Length: 0\r\n\r\n";
  await withScript(always(answer), async ({ port }) => {
    const reply = await call(port, post("/x", "{}"));
    assertEquals(reply.headers.get("retry-after"), "7");
  });
});

test("a whole error body comes although a stream was asked for (sglang #27523, miles #851)", async () => {
  await withWorld({ engines: [{}] }, async ({ port, engines }) => {
    engines[0]?.faults.set({ status: 400 });
    const request = post("/v1/chat/completions", '{"stream":true}');
    const reply = await call(port, request);
    const direct = await call(engines[0]?.port ?? 0, request);
    assertEquals([reply.status, reply.isWhole], [400, true]);
    assertEquals(reply.body, direct.body);
  });
});

test("a missing credential is the engine's 401, not the gateway's 500 (AB #671)", async () => {
  await withScript(
    async (peer, request) => {
      const isKnown = /\r\nauthorization: Bearer right\r\n/.test(request);
      await peer.send(
        isKnown
          ? answerOf(200, "text/plain", "ok")
          : answerOf(401, "application/json", '{"error":"Unauthorized"}'),
      );
    },
    async ({ port }) => {
      for (const [token, status] of [["right", 200], ["wrong", 401]]) {
        const header = [`Authorization: Bearer ${token}`];
        const reply = await call(port, post("/v1/embeddings", "{}", header));
        assertEquals(reply.status, status);
      }
    },
  );
});

test("when the engine cannot be reached the answer says so, with a request id (PS all attempts failed)", async () => {
  await withWorld({ engines: [{}] }, async ({ port, engines }) => {
    await engines[0]?.kill();
    for (const target of ["/v1/chat/completions", "/v1/messages"]) {
      const reply = await call(
        port,
        post(target, "{}", ["x-request-id: mine"]),
      );
      assertEquals([502, 503].includes(reply.status), true);
      assertEquals(reply.headers.get("x-request-id"), "mine");
      const { error, type, request_id: requestId } = JSON.parse(reply.body);
      assertMatch(error.message, /endpoint/);
      if (target === "/v1/messages") {
        assertEquals([type, requestId], ["error", "mine"]);
      } else {
        assertMatch(
          error.code,
          /^(upstream_unreachable|no_eligible_endpoint)$/,
        );
      }
    }
  });
});

test("the gateway's own headers are on every answer, and tell no address (A4 llm-d-router #1656)", async () => {
  await withEveryKindOfAnswer((reply, name, enginePorts) => {
    for (const [header, pattern] of OWN_HEADERS) {
      assertMatch(reply.headers.get(header) ?? "absent!", pattern, name);
      const lines = reply.headerLines
        .filter((line) => line.startsWith(`${header}:`));
      assertEquals(lines.length, 1, `${name}: ${header}`);
    }
    // What an engine says about itself is its own affair.
    if (!reply.headers.has("x-tryst-error")) return;
    for (const text of [...reply.headerLines, reply.body]) {
      assert(!/127\.0\.0\.1|localhost|http:\/\//.test(text), text);
      for (const port of enginePorts) assert(!text.includes(`${port}`), text);
    }
  });
});

test("an engine cannot speak for the gateway", async () => {
  const answer = "HTTP/1.1 200 OK\r\nX-Tryst-Endpoint: other\r\n" +
    "x-tryst-error: internal_error\r\nX-Request-Id: other\r\n" +
    "Content-Length: 0\r\n\r\n";
  await withScript(always(answer), async ({ port }) => {
    const reply = await call(port, post("/x", "{}", ["x-request-id: mine"]));
    assertEquals(reply.headers.get("x-tryst-endpoint"), "e0");
    assertEquals(reply.headers.get("x-request-id"), "mine");
    assertEquals(reply.headers.get("x-tryst-error"), undefined);
  });
});

test("an endpoint without a name is told by a hash, not by its URL (A4 llm-d-router #1656)", async () => {
  await withWorld(
    { engines: [{}], isNameless: true },
    async ({ port, engines }) => {
      for (const fault of [{}, { resetBeforeHead: true }]) {
        engines[0]?.faults.set(fault, { targetPrefix: "/echo" });
        const reply = await call(port, post("/echo", "{}"));
        assertMatch(reply.headers.get("x-tryst-endpoint") ?? "", /^ep-\w{8}$/);
      }
    },
  );
});

test("neither logs, metrics nor answers hold a session key or credential (AB #2484 rule, sgl-router X-Request-Id)", async () => {
  const events: string[] = [];
  let page = "";
  await withEveryKindOfAnswer(
    (reply, name) => {
      if (name.startsWith("echo")) return;
      const text = reply.headerLines.join("\n") + reply.body;
      for (const secret of SECRETS) assert(!text.includes(secret), name);
    },
    async (world) => {
      events.push(...world.events.map((event) => JSON.stringify(event)));
      page += await world.gateway.control.metrics.metrics();
    },
  );
  assert(events.some((event) => event.includes("request.failed")));
  for (const text of [...events, page]) {
    for (const secret of SECRETS) assert(!text.includes(secret), text);
  }
});

/** Requests of all kinds, with secrets in them; hands over each answer. */
async function withEveryKindOfAnswer(
  check: (reply: Reply, name: string, enginePorts: number[]) => void,
  after: (world: GatewayWorld) => Promise<void> = async () => {},
): Promise<void> {
  const secret = [
    `x-session-id: ${SECRETS[0]}`,
    `Authorization: ${SECRETS[2]}`,
  ];
  const body = `{"session_id":"${SECRETS[1]}","model":"sim"}`;
  const requests: Readonly<Record<string, string>> = {
    "chat": post("/v1/chat/completions", body, secret),
    "chat by body": post("/v1/chat/completions", body),
    "stream": post("/v1/chat/completions", `{"stream":true,${body.slice(1)}`),
    "messages": post("/v1/messages", body, secret),
    "head": bare("HEAD", "/health", secret),
    "get": bare("GET", "/v1/models", secret),
    "options": bare("OPTIONS", "/v1/models", secret),
    "unknown path": post("/nowhere", body, secret),
    "not JSON": post("/v1/chat/completions", "{", secret),
    "too large": post("/v1/chat/completions", "x".repeat(70_000), secret),
    "too large, chunked": chunkedPost("/x", ["x".repeat(70_000)], secret),
    "bad host": bare("GET", "/x", secret).replace("Host: gateway", "Host: a/b"),
    "unknown model": post("/v1/embeddings", '{"model":"no"}', secret),
  };
  const faults = [
    {},
    { resetBeforeHead: true },
    { garbage: true },
    { status: 500 },
    { status: 503, errorText: "busy" },
    { gzip: true },
    { informational: 103 },
  ] as const;
  const engines = [{ models: ["sim"] }, { models: ["other"] }];
  const config = { limits: { body: "64KiB" } };
  await withWorld({ engines, config }, async (world) => {
    for (const fault of faults) {
      for (const engine of world.engines) engine.faults.set(fault);
      for (const [name, request] of Object.entries(requests)) {
        const reply = await call(world.port, request);
        const enginePorts = world.engines.map(({ port }) => port);
        check(reply, `${name} with ${JSON.stringify(fault)}`, enginePorts);
      }
    }
    await after(world);
  });
}

test("an unknown model is 404 in the shape of the API that was asked", async () => {
  const engines = [{ models: ["a"] }, { models: ["b"] }];
  await withWorld({ engines }, async ({ port }) => {
    const openai = await call(
      port,
      post("/v1/chat/completions", '{"model":"c"}'),
    );
    assertEquals(openai.status, 404);
    const { error } = JSON.parse(openai.body);
    assertEquals([error.code, error.param], ["model_unknown", "model"]);
    const anthropic = await call(port, post("/v1/messages", '{"model":"c"}'));
    assertEquals(JSON.parse(anthropic.body).error.type, "not_found_error");
  });
});

test("an answer that fails leaves its connection usable", async () => {
  await withWorld({ engines: [{}] }, async ({ port, engines }) => {
    using client = await RawClient.connect(port);
    engines[0]?.faults.set({ resetBeforeHead: true });
    await client.send(post("/echo", "{}"));
    assertEquals((await client.reply()).status, 502);
    engines[0]?.faults.clear();
    await client.send(post("/echo", "{}"));
    assertEquals((await client.reply()).status, 200);
  });
});
