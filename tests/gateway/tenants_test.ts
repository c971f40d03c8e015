/**
 * Tenants over real sockets: who gets in, whose session is whose, and what of
 * its limits a tenant has at any time.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import { TenantLimits } from "../../src/core/tenants/tenant_limits.ts";
import { test } from "../leakproof.ts";
import type { Peer } from "../scripted_server.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare, chunkedPost, post } from "./requests.ts";
import { always, type ScriptOptions, withScript } from "./scripted_engine.ts";
import type { GatewayWorld } from "./world.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const RED = "X-Api-Key: red-key-0123456789";
const OTHER_RED = "X-Api-Key: red-key-9876543210";
const BLUE = "Authorization: bearer blue-key-0123456789";

const SECRETS = {
  keys: parseKeyLines(
    "red:red-key-0123456789\nred:red-key-9876543210\n" +
      "blue:blue-key-0123456789",
  ),
  credentials: new Map(),
};

/** A gateway for red and blue with an engine that answers at once. */
async function withTenants(
  tenants: Record<string, unknown>,
  body: (world: GatewayWorld, seen: string[]) => Promise<void>,
  options: ScriptOptions = {},
): Promise<void> {
  const seen: string[] = [];
  await withScript(
    async (peer, request) => {
      seen.push(request);
      await always(OK)(peer, request);
    },
    (world) => body(world, seen),
    { secrets: SECRETS, config: { tenants }, ...options },
  );
}

/** The same, with an engine that answers when it is told to. */
async function withGate(
  options: ScriptOptions,
  body: (world: GatewayWorld, gate: Gate) => Promise<void>,
): Promise<void> {
  const gate = new Gate();
  await withScript(
    (peer, request) => gate.take(peer, request),
    (world) => body(world, gate),
    { secrets: SECRETS, ...options },
  );
}

/** Requests that the engine has and has not answered. */
class Gate {
  /** Paths in the order in which they came. */
  readonly came: string[] = [];
  readonly #open: Peer[] = [];
  #wake: () => void = () => {};

  take(peer: Peer, request: string): Promise<void> {
    this.came.push(request.split(" ", 2)[1] ?? "");
    this.#open.push(peer);
    this.#wake();
    return Promise.resolve();
  }

  /** Resolves once so many are open. */
  async until(count: number): Promise<void> {
    while (this.#open.length < count) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  async answer(): Promise<void> {
    await this.#open.shift()?.send(OK);
  }
}

/** Sends a request on a connection of its own. */
async function sent(port: number, request: string): Promise<RawClient> {
  const client = await RawClient.connect(port);
  await client.send(request);
  return client;
}

function header(raw: string, name: string): string | undefined {
  return new RegExp(`\r\n${name}: ([^\r]*)`, "i").exec(raw)?.[1];
}

test("the same key of two tenants is two sessions", async () => {
  await withTenants({}, async ({ port }) => {
    const outcome = async (key: string, more: string[] = []) => {
      const lines = [key, "X-Session-Id: s", ...more];
      const { raw } = await call(port, post("/v1/embeddings", "{}", lines));
      return header(raw, "x-tryst-affinity");
    };
    assertEquals(await outcome(RED), "new");
    assertEquals(await outcome(RED), "hit");
    // Nothing of it shows to another tenant, who cannot end it either.
    assertEquals(await outcome(BLUE, ["X-Session-Final: true"]), "new");
    assertEquals(await outcome(BLUE), "new");
    assertEquals(await outcome(OTHER_RED), "hit");
  });
});

test("a key gets in by either header, and is told from all others", async () => {
  await withTenants({}, async ({ port }, seen) => {
    const rows = [
      { lines: [], code: "api_key_missing" },
      { lines: ["Authorization:"], code: "api_key_missing" },
      { lines: ["Authorization: Bearer"], code: "api_key_missing" },
      { lines: ["Authorization: Basic cmVkOng="], code: "api_key_missing" },
      { lines: ["X-Api-Key: red-key-012345678"], code: "api_key_invalid" },
      { lines: ["X-Api-Key: red-key-01234567890"], code: "api_key_invalid" },
      { lines: [RED, "Authorization: Bearer x"], code: "api_key_invalid" },
      { lines: [RED], code: undefined },
      { lines: [BLUE], code: undefined },
      { lines: [RED, "Authorization: Basic cmVkOng="], code: undefined },
      {
        lines: ["AUTHORIZATION: BEARER   red-key-0123456789"],
        code: undefined,
      },
    ];
    for (const { code, lines } of rows) {
      const { raw } = await call(port, bare("GET", "/v1/x", lines));
      assertEquals(header(raw, "x-tryst-error"), code, lines.join());
    }
    assertEquals(seen.length, 4);
    for (const request of seen) {
      assertEquals(/api-key|authorization|red-key/i.test(request), false);
    }
  });
});

test("an endpoint gets its own credential, and no client's", async () => {
  const credentials = new Map([
    ["e0", ["authorization", "Bearer engine-secret"] as const],
  ]);
  for (
    const secrets of [{ ...SECRETS, credentials }, {
      keys: undefined,
      credentials,
    }]
  ) {
    await withTenants({}, async ({ port }, seen) => {
      const lines = ["Authorization: Bearer red-key-0123456789"];
      const { status } = await call(port, post("/v1/embeddings", "{}", lines));
      assertEquals(status, 200);
      const found = seen[0]?.match(/^authorization:.*$/gim);
      assertEquals(found, ["authorization: Bearer engine-secret"]);
    }, { secrets });
  }
});

test("a tenant has what its requests at once leave, however they end", async () => {
  const tenants = { red: { concurrent: 2, key_concurrent: 1 } };
  await withGate({ config: { tenants } }, async ({ gateway, port }, gate) => {
    using one = await sent(port, bare("GET", "/v1/1", [RED]));
    await gate.until(1);
    const again = await call(port, bare("GET", "/v1/2", [RED]));
    assertEquals(header(again.raw, "x-tryst-error"), "tenant_full");
    assert(again.raw.includes("The API key has as many"));
    using other = await sent(port, bare("GET", "/v1/3", [OTHER_RED]));
    using blue = await sent(port, bare("GET", "/v1/4", [BLUE]));
    await gate.until(3);
    for (let i = 0; i < 3; i++) await gate.answer();
    for (const client of [one, other, blue]) {
      assertEquals((await client.reply()).status, 200);
    }
    // One whose client leaves.
    const gone = await sent(port, bare("GET", "/v1/5", [RED]));
    await gate.until(1);
    gone.close();
    const limits = new TenantLimits(gateway.control.state.buffers.tenants, 0);
    for (let look = 0; look < 200 && heldOf(limits) > 0; look++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assertEquals(heldOf(limits), 0);
  });
});

/** What the first slots hold; more there are not in this file. */
function heldOf(limits: TenantLimits): number {
  let held = 0;
  for (let slot = 0; slot < 16; slot++) {
    held += limits.held("running", slot) + limits.held("waiting", slot);
  }
  return held;
}

/** Resolves once so many requests wait; fails after a second. */
async function waitFor(
  { assembly }: GatewayWorld["gateway"],
  count: number,
): Promise<void> {
  for (let look = 0; look < 200; look++) {
    if (assembly.admission.waitingCount === count) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Cannot see ${count} requests wait`);
}

test("a tenant may have a priority of its own, higher or lower than others'", async () => {
  const options = {
    endpoints: [{ max_in_flight: 1 }],
    config: {
      queue: { priority_max: -5 },
      tenants: { red: { priority_max: 0 }, green: { priority_max: -9 } },
    },
    secrets: {
      ...SECRETS,
      keys: [...SECRETS.keys, ...parseKeyLines("green:green-key-0123456789")],
    },
  };
  await withGate(options, async ({ gateway, port }, gate) => {
    const clients = [await sent(port, bare("GET", "/first", [BLUE]))];
    await gate.until(1);
    const GREEN = "X-Api-Key: green-key-0123456789";
    for (const [path, key] of [["/g", GREEN], ["/b", BLUE], ["/r", RED]]) {
      clients.push(await sent(port, bare("GET", path ?? "", [key ?? ""])));
      await waitFor(gateway, clients.length - 1);
    }
    for (const _client of clients) {
      await gate.until(1);
      await gate.answer();
    }
    for (const client of clients) {
      assertEquals((await client.reply()).status, 200);
      client.close();
    }
    assertEquals(gate.came, ["/first", "/r", "/b", "/g"]);
  });
});

test("only so many requests of a tenant wait, and others still do", async () => {
  const options = {
    endpoints: [{ max_in_flight: 1 }],
    config: { tenants: { red: { queued: 1 } } },
  };
  await withGate(options, async ({ gateway, port }, gate) => {
    const untilWaiting = (count: number) => waitFor(gateway, count);
    using one = await sent(port, bare("GET", "/v1/1", [RED]));
    await gate.until(1);
    using two = await sent(port, bare("GET", "/v1/2", [RED]));
    await untilWaiting(1);
    const three = await call(port, bare("GET", "/v1/3", [OTHER_RED]));
    assertEquals(header(three.raw, "x-tryst-error"), "tenant_queue_full");
    using blue = await sent(port, bare("GET", "/v1/4", [BLUE]));
    await untilWaiting(2);
    await gate.answer();
    assertEquals((await one.reply()).status, 200);
    await gate.until(1);
    // Whoever has been served waits no more.
    using five = await sent(port, bare("GET", "/v1/5", [RED]));
    await untilWaiting(2);
    for (const client of [two, blue, five]) {
      await gate.until(1);
      await gate.answer();
      assertEquals((await client.reply()).status, 200);
    }
  });
});

test("a tenant's rate is one over its keys, and a key's its own", async () => {
  const tenants = {
    red: {
      requests_per_second: 0.001,
      burst: 3,
      key_requests_per_second: 0.001,
      key_burst: 2,
    },
  };
  await withTenants(tenants, async ({ port }) => {
    const ask = async (key: string) => {
      const { raw, status } = await call(port, bare("GET", "/v1/x", [key]));
      return [status, header(raw, "x-ratelimit-remaining-requests")];
    };
    assertEquals(await ask(RED), [200, "1"]);
    assertEquals(await ask(RED), [200, "0"]);
    assertEquals(await ask(RED), [429, "0"]);
    // Two of the tenant's three are spent; the key's refusal cost none.
    assertEquals(await ask(OTHER_RED), [200, "0"]);
    assertEquals(await ask(OTHER_RED), [429, "0"]);
    assertEquals(await ask(BLUE), [200, undefined]);
  });
});

const BODY_LIMITS = [{ body: "1KiB" }, { body: "1MiB", key_body: "1KiB" }];
for (const limits of BODY_LIMITS) {
  test(`a body larger than a limit is refused, by length or not: ${Object.keys(limits)}`, async () => {
    await withTenants({ red: limits }, async ({ port }, seen) => {
      const body = (bytes: number) => `"${"x".repeat(bytes - 2)}"`;
      const status = async (request: string) =>
        (await call(port, request)).status;
      assertEquals(await status(post("/v1/x", body(1_025), [RED])), 413);
      assertEquals(await status(post("/v1/x", body(1_024), [RED])), 200);
      assertEquals(await status(post("/v1/x", body(1_025), [BLUE])), 200);
      assertEquals(
        await status(chunkedPost("/v1/x", [body(600), body(600)], [RED])),
        413,
      );
      assertEquals(
        seen.filter((one) => one.includes("content-length")).length,
        2,
      );
    });
  });
}

test("a model that is not the tenant's is refused however it is asked for", async () => {
  const config = {
    tenants: { red: { models: ["a"] } },
    session: { sniff_window: "128KiB" },
  };
  await withTenants({}, async ({ port }, seen) => {
    const rows = modelRows();
    for (const { request, status } of rows) {
      const reply = await call(port, request);
      assertEquals(reply.status, status, request.slice(0, 200));
    }
    assertEquals(
      seen.length,
      rows.filter(({ status }) => status === 200).length,
    );
  }, { config });
});

/** Bodies for a tenant of the model `a`, with a window of 128 KiB. */
function modelRows(): { request: string; status: number }[] {
  const long = "x".repeat(100_000);
  return [
    { request: post("/v1/x", '{"model":"b"}', [RED]), status: 403 },
    {
      request: post("/v1/x", '{"model":"a","model":"b"}', [RED]),
      status: 403,
    },
    {
      request: post("/v1/x", '{"model":"b","model":"a"}', [RED]),
      status: 403,
    },
    {
      request: post("/v1/x", '{"model":"a","MODEL":"b"}', [RED]),
      status: 403,
    },
    {
      request: post("/v1/x", '{"model":"a","mod\\u0065l":"b"}', [RED]),
      status: 403,
    },
    {
      request: post("/v1/x", `{"model":"a","p":"${long}","model":"b"}`, [
        RED,
      ]),
      status: 403,
    },
    {
      request: post("/v1/x", `{"p":"${long}${long}","model":"a"}`, [RED]),
      status: 403,
    },
    { request: post("/v1/x", '{"prompt":"p"}', [RED]), status: 403 },
    { request: post("/v1/x", '["model","a"]', [RED]), status: 403 },
    { request: post("/v1/x", '{"model":"a"', [RED]), status: 403 },
    {
      request: post("/v1/x", '{"model":"a"}', [
        RED,
        "Content-Encoding: gzip",
      ]),
      status: 403,
    },
    { request: post("/v1/models", "{}", [RED]), status: 403 },
    { request: bare("GET", "/v1/models/b", [RED]), status: 403 },
    { request: bare("GET", "/v1/realtime?model=b", [RED]), status: 403 },
    { request: bare("GET", "/v1/models?x", [RED]), status: 200 },
    { request: post("/v1/x", '{"model":"a"}', [RED]), status: 200 },
    {
      request: post("/v1/x", '{"mod\\u0065l":"\\u0061"}', [RED]),
      status: 200,
    },
    {
      request: post("/v1/x", `{"p":"${long}","model":"a"}`, [RED]),
      status: 200,
    },
    {
      request: chunkedPost("/v1/x", ['{"mod', 'el":"a"', "}"], [RED]),
      status: 200,
    },
    { request: post("/v1/x", '{"model":"b"}', [BLUE]), status: 200 },
  ];
}

test("keys are exchanged without a restart, and requests go on", async () => {
  const config = { tenants: { red: { concurrent: 1 } } };
  await withGate({ config }, async ({ gateway, port }, gate) => {
    using one = await sent(port, bare("GET", "/v1/1", [RED]));
    await gate.until(1);
    const keys = parseKeyLines(
      "red:red-key-9876543210\nnew:new-key-0123456789",
    );
    gateway.replaceKeys({ ...SECRETS, keys });
    const former = await call(port, bare("GET", "/v1/2", [RED]));
    assertEquals(former.status, 401);
    // What began with the former key still counts.
    const full = await call(port, bare("GET", "/v1/3", [OTHER_RED]));
    assertEquals(full.status, 429);
    await gate.answer();
    assertEquals((await one.reply()).status, 200);
    const NEW = "X-Api-Key: new-key-0123456789";
    for (const key of [OTHER_RED, NEW]) {
      using client = await sent(port, bare("GET", "/v1/4", [key]));
      await gate.until(1);
      await gate.answer();
      assertEquals((await client.reply()).status, 200);
    }
  });
});

test("an unknown key and one that is nearly right are answered alike", async () => {
  await withTenants({}, async ({ port }) => {
    const answer = async (key: string) => {
      const { raw } = await call(
        port,
        bare("GET", "/v1/x", [`X-Api-Key: ${key}`]),
      );
      return raw.replace(/\b(?:x-request-id|date): [^\r]+/gi, "");
    };
    const near = await answer("red-key-0123456788");
    assertEquals(await answer("entirely-another-one"), near);
    assertEquals(await answer("x".repeat(4_000)), near);
    assertNotEquals(await answer("red-key-0123456789"), near);
  });
});

test("no key shows in the log, the metrics or the requests under way", async () => {
  await withGate({}, async ({ events, gateway, port }, gate) => {
    using one = await sent(port, bare("GET", "/v1/1", [RED]));
    await call(port, bare("GET", "/v1/2", ["X-Api-Key: wrong-key-0123456789"]));
    await gate.until(1);
    const shown = [
      JSON.stringify(events),
      await gateway.control.metrics.metrics(),
      JSON.stringify(gateway.assembly.live(10)),
    ].join("\n");
    await gate.answer();
    assertEquals((await one.reply()).status, 200);
    assertEquals(/red-key|wrong-key/.test(shown), false);
    for (const { digest } of SECRETS.keys) assert(!shown.includes(digest));
  });
});
