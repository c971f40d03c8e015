/**
 * Where requests go over the whole path: sessions to their engine, also from
 * another gateway, and requests without a key evenly to all.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { post } from "./requests.ts";
import { placed } from "./session_probe.ts";
import { withGateway, withWorld, type World } from "./world.ts";

const FOUR = { engines: [{}, {}, {}, {}] };

/** Requests that ended up at each engine, most first. */
function shares(world: World): number[] {
  return world.engines
    .map(({ requests }) => requests.filter(({ method }) => method === "POST"))
    .map((posts) => posts.length)
    .sort((a, b) => b - a);
}

/** Largest share over the mean share. */
function peak(counts: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return (counts[0] ?? 0) / (total / counts.length);
}

/** Lets no engine answer before all requests of a burst have been placed. */
function slowDown({ engines }: World): void {
  for (const { faults } of engines) faults.set({ firstByteDelayMs: 300 });
}

/** Sends `count` requests at once, each on a connection of its own. */
async function burst(
  port: number,
  count: number,
  request: (index: number) => string,
): Promise<void> {
  const replies = await Promise.all(
    Array.from({ length: count }, (_, index) => call(port, request(index))),
  );
  for (const { status } of replies) assertEquals(status, 200);
}

test("two gateways that share nothing agree on every session (A3 dynamo #11035, AB #1751, agentgateway #754)", async () => {
  await withWorld(FOUR, async ({ port, engines }) => {
    // The other lists the same engines in another order.
    const reversed = [...engines].reverse();
    const endpoints = reversed.map(({ id }) => ({ id }));
    await withGateway(reversed, { endpoints }, async (other) => {
      const used = new Set<string | undefined>();
      for (let session = 0; session < 100; session++) {
        const seen = new Set<string | undefined>();
        for (let turn = 0; turn < 5; turn++) {
          const to = turn % 2 === 0 ? port : other.port;
          const request = post("/echo", `{"session_id":"s-${session}"}`);
          seen.add(placed(await call(to, request)).endpoint);
        }
        assertEquals(seen.size, 1, `session ${session}`);
        used.add([...seen][0]);
      }
      assertEquals(used.size, engines.length);
    });
  });
});

test("a gateway that starts anew sends sessions where they were (A3 dynamo #11035)", async () => {
  const where = new Map<number, string | undefined>();
  await withWorld(FOUR, async ({ engines }) => {
    for (let life = 0; life < 2; life++) {
      await withGateway(engines, {}, async ({ port }) => {
        for (let session = 0; session < 40; session++) {
          const request = post("/echo", `{"session_id":"s-${session}"}`);
          const { endpoint, affinity } = placed(await call(port, request));
          assertEquals(affinity, "new");
          assertEquals(endpoint, where.get(session) ?? endpoint);
          where.set(session, endpoint);
        }
      });
    }
  });
});

test("40 requests with an empty header are spread (PS empty header)", async () => {
  await withWorld(FOUR, async (world) => {
    const request = post("/v1/chat/completions", "{}", ["X-Session-Id:"]);
    slowDown(world);
    await burst(world.port, 40, () => request);
    assert(peak(shares(world)) <= 1.5, shares(world).join());
  });
});

test("80 requests without a key over 8 engines stay near even (vllm-project/vime #98, B5 vllm-router, B6 sglang #26263)", async () => {
  const engines = Array.from({ length: 8 }, () => ({}));
  const bodies = [
    "{}",
    '{"prompt":[1,2,3]}',
    '{"prompt":[9,9,9]}',
    '{"messages":[{"role":"system","content":"You are helpful"}]}',
  ];
  for (const body of bodies) {
    await withWorld({ engines }, async (world) => {
      const request = post("/v1/chat/completions", body);
      slowDown(world);
      await burst(world.port, 80, () => request);
      assert(peak(shares(world)) <= 1.5, `${body}: ${shares(world).join()}`);
    });
  }
});

test("100 calls without a key, all at once, are 25 +- 5 each (AB #2422, AB #646)", async () => {
  await withWorld(FOUR, async (world) => {
    slowDown(world);
    await burst(world.port, 100, () => post("/v1/embeddings", "{}"));
    const counts = shares(world);
    assert((counts[0] ?? 0) <= 30 && (counts[3] ?? 0) >= 20, counts.join());
  });
});

test("in flight returns to 0 after answers of every kind (AB #2440, #2463; PS #1001)", async () => {
  await withWorld(
    { engines: [{}] },
    async ({ port, engines, gateway, idle }) => {
      const faults = engines[0]?.faults;
      assert(faults !== undefined);
      const cases = [
        {},
        { status: 500 },
        { status: 429, retryAfter: "1" },
        { resetBeforeHead: true },
        { garbage: true },
        { truncateAfterBytes: 10 },
        { resetAfterBytes: 10 },
        { closeAfter: "silent" },
        { gzip: true },
      ] as const;
      for (const switches of cases) {
        faults.set(switches, { targetPrefix: "/v1/chat" });
        for (const body of ["{}", '{"stream":true}']) {
          for (const session of [[], ["x-session-id: s"]]) {
            for (let i = 0; i < 3; i++) {
              const request = post("/v1/chat/completions", body, session);
              using client = await RawClient.connect(port);
              await client.send(request);
              await client.reply().catch(() => {});
            }
          }
        }
        await idle();
        assertEquals(
          gateway.control.endpoints().map(({ inFlight }) => inFlight),
          [0],
          JSON.stringify(switches),
        );
      }
    },
  );
});

test("100 engines' deaths before the head leave nothing counted (PS #1001)", async () => {
  await withWorld(
    { engines: [{}] },
    async ({ port, engines, idle, metric }) => {
      engines[0]?.faults.set({ resetBeforeHead: true }, {
        targetPrefix: "/v1/ch",
      });
      const request = post("/v1/chat/completions", "{}", ["x-session-id: s"]);
      for (let i = 0; i < 100; i++) {
        assertEquals((await call(port, request)).status, 502);
      }
      await idle();
      const resets = 'tryst_requests_total{outcome="upstream_reset"}';
      assertEquals(await metric(resets), 100);
      engines[0]?.faults.clear();
      assertEquals((await call(port, request)).status, 200);
    },
  );
});

test("a session whose engine answers with an error is not bound to it (bifrost #7177)", async () => {
  await withWorld(FOUR, async ({ port, engines }) => {
    for (const { faults } of engines) faults.set({ status: 500 });
    const request = post("/v1/chat/completions", "{}", ["x-session-id: s"]);
    for (let i = 0; i < 2; i++) {
      const { status, affinity } = placed(await call(port, request));
      assertEquals([status, affinity], [500, "new"]);
    }
    for (const { faults } of engines) faults.clear();
    assertEquals(placed(await call(port, request)).affinity, "new");
    assertEquals(placed(await call(port, request)).affinity, "hit");
  });
});

test("models that alternate keep their pools and their sessions (PS #915, #916, PS shared ring)", async () => {
  const engines = [
    { models: ["a"] },
    { models: ["a"] },
    { models: ["b"] },
    { models: ["b"] },
  ];
  await withWorld({ engines }, async (world) => {
    const served = new Map<string, Set<string | undefined>>();
    for (let turn = 0; turn < 40; turn++) {
      const model = turn % 2 === 0 ? "a" : "b";
      const session = `${model}-${turn % 8}`;
      const request = post(
        "/v1/chat/completions",
        `{"model":"${model}","session_id":"${session}"}`,
      );
      const { endpoint } = placed(await call(world.port, request));
      assert((model === "a" ? ["e0", "e1"] : ["e2", "e3"])
        .includes(String(endpoint)));
      const seen = served.get(session) ?? new Set();
      served.set(session, seen.add(endpoint));
    }
    for (const [session, seen] of served) assertEquals(seen.size, 1, session);
    await burst(
      world.port,
      40,
      (index) =>
        post("/v1/embeddings", `{"model":"${index % 2 === 0 ? "a" : "b"}"}`),
    );
    const counts = shares(world);
    assert((counts[3] ?? 0) >= 8, counts.join());
  });
});
