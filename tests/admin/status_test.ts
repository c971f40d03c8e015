/**
 * The status and the metrics of gateways that have served: what they show, and
 * what they keep to themselves.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { GatewayStatus } from "../../src/admin/status.ts";
import { hashKey } from "../../src/core/session_key.ts";
import { shortHash } from "../../src/core/hash.ts";
import { liveRequest } from "../../src/wiring/live_book.ts";
import { RecentFailures } from "../../src/wiring/recent_failures.ts";
import { gatewayStatus } from "../../src/wiring/status.ts";
import { systemClock } from "../../src/system/clock.ts";
import { GatedEngine } from "../binary/gated_engine.ts";
import { call, RawClient } from "../gateway/raw_client.ts";
import { bare, post } from "../gateway/requests.ts";
import { type GatewayWorld, withGateway, withWorld } from "../gateway/world.ts";
import { test } from "../leakproof.ts";
import { serveProgram, until } from "./program.ts";

const SECRET = "secret-session-7f3a";
const SECRET_HASH = hashText(SECRET);

/** A gateway with one engine, whose streams wait, and one that is not there. */
async function withStatus(
  body: (world: {
    readonly world: GatewayWorld;
    readonly engine: GatedEngine;
    readonly status: () => Promise<GatewayStatus>;
  }) => Promise<void>,
): Promise<void> {
  await using engine = new GatedEngine();
  await withGateway([engine], {
    config: {
      limits: { body: "1KiB" },
      session: {
        keys: [
          "path:/v1/threads/{id}/*",
          "header:x-key",
          "body:key",
          "query:k",
        ],
      },
    },
    endpoints: [{ weight: 2, max_in_flight: 3 }],
  }, async (world) => {
    const { control, assembly } = world.gateway;
    const failures = new RecentFailures(systemClock);
    const log = failures.notedBy(() => {});
    const status = () => {
      for (const { event, fields } of world.events) {
        if (event === "request.failed") log("info", event, fields);
      }
      return gatewayStatus({
        control,
        version: "0.0.0",
        nowMs: systemClock.nowMs,
        readiness: () => ({
          ...control.readiness(),
          isStopping: false,
          serving: 1,
          workers: 1,
        }),
        live: () => assembly.live(50).map((call) => liveRequest(call, 0)),
        failures: () => failures.list(),
      });
    };
    await body({ world, engine, status });
  });
}

const TURN = JSON.stringify({ model: "sim", key: SECRET });
const STREAM = JSON.stringify({ model: "sim", stream: true });
const TOO_LARGE = JSON.stringify({ model: "sim", user: "x".repeat(2_048) });

function hashText(text: string): string {
  const hash = hashKey(new TextEncoder().encode(text));
  assert(hash !== undefined);
  return shortHash(hash);
}

test("the status shows what has gone through, and what is under way", async () => {
  await withStatus(async ({ world, engine, status }) => {
    const { port } = world;
    await call(port, post("/v1/chat/completions", TURN));
    await call(port, post("/v1/chat/completions", TURN));
    await call(port, post("/v1/chat/completions", TOO_LARGE));
    using client = await RawClient.connect(port);
    await client.send(
      post(`/v1/threads/${SECRET}/runs?k=${SECRET}`, STREAM, [
        "x-request-id: first",
      ]),
    );
    await client.until(/data: /);

    const seen = await status();
    const [endpoint] = seen.endpoints;
    assert(endpoint !== undefined);
    assertEquals(seen.isReady, true);
    assertEquals(seen.workers, { serving: 1, total: 1, deaths: 0 });
    assertEquals(seen.traffic.received, 4);
    assertEquals(seen.traffic.outcomes["2xx"], 2);
    assertEquals(
      [seen.traffic.affinity.new, seen.traffic.affinity.hit],
      [1, 2],
    );
    assertEquals([endpoint.id, endpoint.state], ["e0", "ready"]);
    assertEquals([endpoint.weight, endpoint.limit], [2, 3]);
    assertEquals(endpoint.limitSource, "configured");
    assertEquals([endpoint.attempts, endpoint.hits], [3, 2]);
    assertEquals([endpoint.failures, endpoint.inFlight], [0, 1]);
    assertEquals(endpoint.firstByteCount, 3);
    assertEquals([endpoint.models, endpoint.gauges], [1, null]);
    assertEquals(seen.traffic.firstByteCount, 3);
    assert(seen.traffic.responseBytes > 0 && seen.memoryBytes > 1e6);
    assertEquals(seen.queue, { waiting: 0, longestWaitMs: 0, levels: [] });
    assertEquals(seen.live.map(({ ageMs: _, ...rest }) => rest), [{
      id: "first",
      phase: "relay",
      method: "POST",
      path: "/v1/threads/{id}/*",
      endpoint: "e0",
      session: SECRET_HASH,
      worker: 0,
    }]);
    assertEquals(seen.failures.map(({ code }) => code), ["body_too_large"]);
    // Plain JSON: what is read back is what was there.
    assertEquals(JSON.parse(JSON.stringify(seen)), seen);

    engine.open();
    await client.reply();
    await world.idle();
    assertEquals((await status()).live, []);
  });
});

test("the status shows who waits, and how the waiting ended", async () => {
  await withStatus(async ({ world, engine, status }) => {
    const clients: RawClient[] = [];
    try {
      for (let count = 0; count < 5; count++) {
        const client = await RawClient.connect(world.port);
        clients.push(client);
        await client.send(post("/v1/chat/completions", STREAM));
      }
      await until(
        "two that wait",
        async () => (await status()).queue.waiting === 2,
      );
      const { queue, live } = await status();
      assertEquals(queue.levels, [{ level: 0, count: 2 }]);
      const phases = live.map(({ phase }) => phase).sort();
      assertEquals(phases, ["admit", "admit", "relay", "relay", "relay"]);
      assertEquals(await world.metric('tryst_queue_waiting{level="0"}'), 2);
      engine.open();
      for (const client of clients) await client.reply();
    } finally {
      for (const client of clients) client[Symbol.dispose]();
    }
    const waits = `tryst_queue_wait_seconds_count{outcome="placed"}`;
    assertEquals(await world.metric(waits), 2);
    assertEquals((await status()).queue.levels, []);
    assert(await world.metric("tryst_chunk_gap_seconds_count") >= 3);
  });
});

test("engines' own accounts and learned limits are shown", async () => {
  await withWorld({
    engines: [{}],
    endpoints: [{ max_in_flight: "auto" }],
    config: { engine_metrics: { interval: "100ms" } },
  }, async ({ gateway: { control }, metric }) => {
    await until(
      "a reading",
      async () =>
        await metric(`tryst_engine_reading_age_seconds{endpoint="e0"}`) > 0,
    );
    const page = await control.metrics.metrics();
    for (
      const line of [
        /^tryst_engine_running_requests\{endpoint="e0"\} 0$/m,
        /^tryst_engine_cache_usage_ratio\{endpoint="e0"\} [\d.]+$/m,
        /^tryst_endpoint_limit\{endpoint="e0"\} \d+$/m,
        /^tryst_endpoint_limit_learned\{endpoint="e0"\} 1$/m,
        /^tryst_endpoint_limit_decisions_total\{endpoint="e0",change="cut",/m,
      ]
    ) assertMatch(page, line);
  });
});

test("no session becomes a label, and no key is shown", async () => {
  await withStatus(async ({ world, status }) => {
    const { port } = world;
    for (
      const request of [
        post("/v1/chat/completions", TURN),
        post("/v1/chat/completions", "{}", [`x-key: ${SECRET}`]),
        bare("GET", `/v1/threads/${SECRET}`),
        bare("GET", `/v1/threads/${SECRET}/none?k=${SECRET}`),
        bare("GET", `/v1/models?k=${SECRET}`, [`x-request-id: ${SECRET}`]),
        post("/v1/chat/completions", JSON.stringify({ model: SECRET })),
        "BREW / HTTP/1.1\r\nHost: gateway\r\n\r\n",
      ]
    ) await call(port, request);
    const page = await world.gateway.control.metrics.metrics();
    const sources = `tryst_session_key_source_total{source="body:key"} 1`;
    assert(page.includes(sources), "nothing was counted");
    for (const text of [SECRET, SECRET_HASH]) assert(!page.includes(text));
    // An id that a client gives is shown, and it is the client's to choose.
    const { live: _, failures: __, ...rest } = await status();
    assert(!JSON.stringify(rest).includes(SECRET));
  });
});

test("a program shows the requests of all its workers", async () => {
  await using engine = new GatedEngine();
  await using served = await serveProgram([
    "workers: 2",
    "limits: { body: 1KiB }",
    `endpoints: [{ id: a, url: ${engine.url} }]`,
  ].join("\n"));
  const clients: RawClient[] = [];
  try {
    for (let count = 0; count < 12; count++) {
      const client = await RawClient.connect(served.port);
      clients.push(client);
      await client.send(
        post("/v1/chat/completions", STREAM, [`x-session-id: s${count}`]),
      );
      await client.until(/data: /);
    }
    await call(served.port, post("/v1/chat/completions", TOO_LARGE));
    const status = await firstEvent(served.adminPort);
    assertEquals(status.live.length, 12);
    assertEquals(new Set(status.live.map(({ worker }) => worker)).size, 2);
    assertEquals(status.live[0]?.phase, "relay");
    assertEquals(status.traffic.received, 13);
    assertMatch(status.version, /^\d+\.\d+\.\d+/);
    assertEquals(status.failures.map(({ code }) => code), ["body_too_large"]);
    const { body } = await served.admin("/metrics");
    for (const thread of ["main", "worker-0", "worker-1"]) {
      assertMatch(
        body,
        new RegExp(`^tryst_event_loop_lag_seconds.thread="${thread}". `, "m"),
      );
    }
    assertMatch(
      body,
      /^tryst_build_info\{version="[\d.]+",deno="[\d.]+"\} 1$/m,
    );
    assertMatch(body, /^process_resident_memory_bytes \d{7,}$/m);
    engine.open();
    for (const client of clients) await client.reply();
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
});

/** The status as the dashboard gets it first. */
async function firstEvent(adminPort: number): Promise<GatewayStatus> {
  using client = await RawClient.connect(adminPort);
  await client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const text = await client.until(/^data: .*\n\n/m);
  const [, json] = /^data: (.*)$/m.exec(text) ?? [];
  return JSON.parse(json ?? "");
}
