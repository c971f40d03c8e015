/**
 * Clients that leave: the engine learns it at once, in every phase, and
 * nothing stays counted.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare, post } from "./requests.ts";
import { withWorld, type World } from "./world.ts";

const ONE = { engines: [{}] };

/** Within this many milliseconds the engine must see that a client left. */
const GONE_WITHIN_MS = 1_000;

const GONE = 'tryst_requests_total{outcome="client_gone"}';

/** Asserts that the only engine sees the client of `target` leave in time. */
async function assertGone(world: World, target: string): Promise<void> {
  const [engine] = world.engines;
  await engine?.until(
    (it) => it.target === target && it.clientClosedEarly,
    GONE_WITHIN_MS,
  );
  await world.idle();
  assertEquals(
    world.gateway.control.endpoints().map(({ inFlight }) => inFlight),
    [0],
  );
  assertEquals(engine?.stats.runningCount, 0);
}

test("a client that leaves before the head is seen by the engine (E1 PS #634, #867, #1040; E2 litellm #30244; AB #1246)", async () => {
  await withWorld(ONE, async (world) => {
    const [engine] = world.engines;
    engine?.faults.set({ hang: true }, { targetPrefix: "/v1/chat" });
    for (const body of ['{"stream":false}', '{"stream":true}']) {
      const target = `/v1/chat/completions?${body.length}`;
      using client = await RawClient.connect(world.port);
      await client.send(post(target, body, ["x-session-id: s"]));
      await engine?.until((it) => it.target === target && it.isComplete);
      client.close();
      await assertGone(world, target);
    }
    assertEquals(await world.metric(GONE), 2);
    engine?.faults.clear();
    const request = post("/v1/chat/completions", "{}", ["x-session-id: s"]);
    assertEquals((await call(world.port, request)).status, 200);
  });
});

test("a client without a body that leaves before the head is seen (E3 deno #21653)", async () => {
  await withWorld(ONE, async (world) => {
    const [engine] = world.engines;
    engine?.faults.set({ hang: true }, { targetPrefix: "/slow" });
    using client = await RawClient.connect(world.port);
    await client.send(bare("GET", "/slow"));
    await engine?.until((it) => it.target === "/slow");
    client.close();
    await assertGone(world, "/slow");
  });
});

test("a client that leaves between events is seen by the engine (E2 litellm #31499, E4 bun #25919)", async () => {
  await withWorld(ONE, async (world) => {
    const [engine] = world.engines;
    engine?.faults.set({ eventDelayMs: 150 }, { targetPrefix: "/v1/chat" });
    using client = await RawClient.connect(world.port);
    const target = "/v1/chat/completions";
    await client.send(post(target, '{"stream":true,"max_tokens":1000}'));
    await client.until(/data: .*\n\n/);
    client.close();
    await assertGone(world, target);
    assertEquals(await world.metric(GONE), 1);
  });
});

test("a client that leaves while it uploads is seen by the engine (AB #2338)", async () => {
  await withWorld(ONE, async (world) => {
    for (
      const framing of ["Content-Length: 9000000", "Transfer-Encoding: chunked"]
    ) {
      const target = `/sink?${framing.length}`;
      using client = await RawClient.connect(world.port);
      await client.send(bare("POST", target, ["x-session-id: s", framing]));
      const part = "x".repeat(100_000);
      const isChunked = framing.endsWith("chunked");
      await client.send(isChunked ? `186a0\r\n${part}\r\n` : part);
      await world.engines[0]?.until((it) =>
        it.target === target && it.bodyByteCount > 0
      );
      client.close();
      await assertGone(world, target);
      assertEquals(world.seen(target).isComplete, false);
    }
  });
});

test("a client that leaves while its body is held reaches no engine (AB #2338)", async () => {
  await withWorld(ONE, async ({ port, engines, idle, metric }) => {
    const before = engines[0]?.stats.requestCount;
    for (let i = 0; i < 10; i++) {
      using client = await RawClient.connect(port);
      const request = post("/sink", `{"p":"${"x".repeat(100_000)}"}`);
      await client.send(request.slice(0, i * 10_000));
    }
    await untilReceived(metric, 10);
    await idle();
    assertEquals(engines[0]?.stats.requestCount, before);
    assertEquals(
      await metric('tryst_requests_total{outcome="internal_error"}'),
      0,
    );
  });
});

/** A head of which nothing was sent is no request: one of ten is none. */
async function untilReceived(
  metric: World["metric"],
  sent: number,
): Promise<void> {
  for (let look = 0; look < 100; look++) {
    if (await metric("tryst_requests_received_total") >= sent - 1) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("ten uploads aborted at once leave nothing (AB #2338, G7 llm-d-router)", async () => {
  await withWorld({ engines: [{}, {}] }, async (world) => {
    const { port, engines, idle } = world;
    const head = bare("POST", "/sink", ["Content-Length: 900000"]);
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => RawClient.connect(port)),
    );
    // Not JSON, so it flows at once.
    await Promise.all(clients.map((it) => it.send(head + "x".repeat(80_000))));
    await untilAll(
      () =>
        engines.flatMap(({ requests }) => requests)
          .filter((it) => it.target === "/sink" && it.bodyByteCount > 0).length,
      10,
    );
    for (const client of clients) client.close();
    await idle();
    await untilAll(() =>
      engines.flatMap(({ requests }) => requests)
        .filter((it) => it.clientClosedEarly).length, 10);
    for (const { stats } of engines) assertEquals(stats.runningCount, 0);
  });
});

/** Waits at most the time in which engines must see a disconnect. */
async function untilAll(count: () => number, wanted: number): Promise<void> {
  const lookMs = 10;
  for (let waitedMs = 0; waitedMs < GONE_WITHIN_MS; waitedMs += lookMs) {
    if (count() >= wanted) break;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
  assertEquals(count(), wanted);
}

test("100 canceled calls at the limit leave room for the next (litellm #28160, vllm-ascend #10812, vllm-project/router #215)", async () => {
  const endpoints = [{ max_in_flight: 10 }];
  const config = { queue: { max: 0 } };
  await withWorld({ ...ONE, endpoints, config }, async (world) => {
    const { port, engines, idle } = world;
    engines[0]?.faults.set({ hang: true }, { targetPrefix: "/v1/chat" });
    const request = post("/v1/chat/completions", "{}", ["x-session-id: s"]);
    for (let round = 0; round < 10; round++) {
      const clients = await Promise.all(
        Array.from({ length: 10 }, () => RawClient.connect(port)),
      );
      await Promise.all(clients.map((client) => client.send(request)));
      const arrived = (round + 1) * 10;
      await untilAll(
        () =>
          engines[0]?.requests.filter((it) => it.target.startsWith("/v1/chat"))
            .length ?? 0,
        arrived,
      );
      const full = await call(port, request);
      assertEquals(full.status, 429);
      for (const client of clients) client.close();
      await idle();
    }
    engines[0]?.faults.clear();
    assertEquals((await call(port, request)).status, 200);
  });
});

test("300 aborted streams leave no socket open to the engine (E4 bun #25919, AB #2487, PS #1072)", async () => {
  await withWorld(ONE, async (world) => {
    const { port, engines, gateway, idle } = world;
    const [engine] = engines;
    engine?.faults.set({ eventDelayMs: 20 }, { targetPrefix: "/v1/chat" });
    const body = '{"stream":true,"max_tokens":1000}';
    for (let round = 0; round < 10; round++) {
      const clients = await Promise.all(
        Array.from({ length: 30 }, () => RawClient.connect(port)),
      );
      await Promise.all(clients.map(async (client) => {
        await client.send(post("/v1/chat/completions", body));
        await client.until(/data: /);
        client.close();
      }));
    }
    await idle();
    const { upstream } = gateway.assembly;
    assertEquals(upstream.inFlightCount, 0);
    assertEquals(upstream.openCount, upstream.idleCount);
    assert(upstream.openCount <= 30, `${upstream.openCount}`);
    assertEquals(engine?.stats.runningCount, 0);
  });
});

test("a client that closes its sending side only counts as gone", async () => {
  await withWorld(ONE, async (world) => {
    const [engine] = world.engines;
    engine?.faults.set({ hang: true }, { targetPrefix: "/slow" });
    const conn = await Deno.connect({
      hostname: "127.0.0.1",
      port: world.port,
    });
    await conn.write(new TextEncoder().encode(bare("GET", "/slow")));
    await engine?.until((it) => it.target === "/slow");
    await conn.closeWrite();
    await assertGone(world, "/slow");
    conn.close();
  });
});
