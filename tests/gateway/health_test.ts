/**
 * The health of endpoints over real sockets: what ejects an engine, what does
 * not, where its sessions go meanwhile, and how it comes back.
 *
 * Invariant: nothing here waits for a time to pass, only for a state to come,
 * and no wait is endless.
 *
 * @module
 */
import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { startEngine } from "../../bench/engine/engine.ts";
import { summaryLines } from "../../src/cli/summary.ts";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { post } from "./requests.ts";
import { placed } from "./session_probe.ts";
import {
  configOf,
  type GatewayWorld,
  withGateway,
  withWorld,
} from "./world.ts";

/** Probes that never come after the first: traffic alone decides. */
const UNPROBED = {
  health: { interval: "20d", backoff: "20d", backoff_max: "20d" },
};

/** Probes as often as they can be. */
const PROBED = {
  health: {
    interval: "50ms",
    timeout: "200ms",
    unhealthy_threshold: 1,
    backoff: "20ms",
    backoff_max: "50ms",
  },
};

const CHAT = "/v1/chat/completions";

/** Milliseconds that a state may take to come. */
const WAIT_MS = 8_000;

function stateOf({ gateway }: GatewayWorld, id: string): string | undefined {
  return gateway.control.endpoints().find((one) => one.id === id)?.state;
}

/** Looks again and again until `check` holds. */
async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!await check()) {
    if (Date.now() > deadline) throw new Error(`Cannot see that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function untilState(world: GatewayWorld, id: string, state: string) {
  return until(`${id} is ${state}`, () => stateOf(world, id) === state);
}

/** One turn of a session. */
async function turn(world: GatewayWorld, session: string) {
  const reply = await call(
    world.port,
    post(CHAT, "{}", [`x-session-id: ${session}`]),
  );
  return { ...placed(reply), reply };
}

/** Sessions with the engines that they are bound to. */
async function bindSessions(
  world: GatewayWorld,
  count: number,
): Promise<Map<string, string>> {
  const bound = new Map<string, string>();
  for (let number = 0; number < count; number++) {
    const { status, endpoint } = await turn(world, `s-${number}`);
    assertEquals(status, 200);
    bound.set(`s-${number}`, endpoint ?? "");
  }
  return bound;
}

/** A session that is bound to this endpoint. */
async function sessionOn(world: GatewayWorld, id: string): Promise<string> {
  for (let number = 0; number < 64; number++) {
    const { endpoint } = await turn(world, `on-${number}`);
    if (endpoint === id) return `on-${number}`;
  }
  throw new Error(`Cannot find a session of ${id}`);
}

/** Traffic alone ejects, and probes let back at once. */
const QUICK_BACK = {
  health: { interval: "20d", backoff: "20ms", backoff_max: "50ms" },
};

test("a killed engine is ejected, and its sessions spread and stay (PS #420, #1008, vllm-router A12)", async () => {
  const options = { engines: [{}, {}, {}, {}], config: QUICK_BACK };
  await withWorld(options, async (world) => {
    const bound = await bindSessions(world, 60);
    const orphans = [...bound].filter(([, id]) => id === "e0");
    await world.engines[0]?.kill();
    for (const [session] of orphans) {
      const { status } = await turn(world, session);
      assertEquals(status, 200, "an attempt that was not sent goes elsewhere");
    }
    assertEquals(stateOf(world, "e0"), "ejected");
    // The first ones only spilled, as their engine was still eligible.
    const moved = new Map<string, string>();
    for (const [session] of orphans) {
      moved.set(session, (await turn(world, session)).endpoint ?? "");
    }
    assertEquals([...new Set(moved.values())].sort(), ["e1", "e2", "e3"]);
    const series = 'tryst_endpoint_ejections_total{endpoint="e0",cause=';
    await until(
      "the ejection is counted",
      async () => await world.metric(`${series}"failures"}`) === 1,
    );

    const port = world.engines[0]?.port ?? 0;
    await using restarted = await startEngine({ port, speed: 1_000 });
    await untilState(world, "e0", "ready");
    assertEquals(restarted.requests[0]?.target, "/health", "half open");
    for (const [session, endpoint] of bound) {
      const now = await turn(world, session);
      const home = moved.get(session) ?? endpoint;
      assertEquals([now.endpoint, now.affinity], [home, "hit"], session);
    }
  });
});

test("a session comes home to a restarted engine once it has been idle", async () => {
  const options = {
    engines: [{}, {}],
    config: { ...QUICK_BACK, session: { idle_ttl: "1s" } },
  };
  await withWorld(options, async (world) => {
    const session = await sessionOn(world, "e0");
    await world.engines[0]?.kill();
    await until("its engine is ejected", async () => {
      assertEquals((await turn(world, session)).endpoint, "e1");
      return stateOf(world, "e0") === "ejected";
    });
    const port = world.engines[0]?.port ?? 0;
    await using _restarted = await startEngine({ port, speed: 1_000 });
    await untilState(world, "e0", "ready");
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const { endpoint, affinity } = await turn(world, session);
    assertEquals([endpoint, affinity], ["e0", "new"]);
  });
});

test("10 x 400 eject nobody (F7 sglang #25811, vllm-router #60)", async () => {
  const options = { engines: [{}, {}], config: UNPROBED };
  await withWorld(options, async (world) => {
    const session = await sessionOn(world, "e0");
    world.engines[0]?.faults.set({ status: 400 });
    for (let i = 0; i < 10; i++) {
      const { status, endpoint } = await turn(world, session);
      assertEquals([status, endpoint], [400, "e0"]);
    }
    assertEquals(stateOf(world, "e0"), "ready");
    assertEquals(
      await world.metric('tryst_endpoint_failures{endpoint="e0"}'),
      0,
    );
  });
});

test("500 and 400 in turn eject nobody; 400 between resets saves nobody (F8 smg #2565)", async () => {
  const options = { engines: [{}, {}], config: UNPROBED };
  await withWorld(options, async (world) => {
    const session = await sessionOn(world, "e0");
    const faults = world.engines[0]?.faults;
    for (let i = 0; i < 10; i++) {
      const wanted = i % 2 === 0 ? 500 : 400;
      faults?.set({ status: wanted });
      const { status, endpoint } = await turn(world, session);
      assertEquals([status, endpoint], [wanted, "e0"]);
    }
    assertEquals(stateOf(world, "e0"), "ready");
    for (let i = 0; i < 5; i++) {
      assertEquals(stateOf(world, "e0"), "ready");
      faults?.set(i % 2 === 0 ? { resetBeforeHead: true } : { status: 400 });
      const { status } = await turn(world, session);
      assertEquals(status, i % 2 === 0 ? 502 : 400);
    }
    assertEquals(stateOf(world, "e0"), "ejected");
  });
});

test("an engine whose health path hangs stays while it answers requests (F14 devclaw #165, #166)", async () => {
  const options = { engines: [{}, {}], config: PROBED };
  await withWorld(options, async (world) => {
    // Its requests are answered, those of the other are not sent.
    const session = await sessionOn(world, "e0");
    for (const { faults } of world.engines) {
      faults.set({ hang: true }, { targetPrefix: "/health" });
    }
    const series = 'tryst_endpoint_probes_total{endpoint="e0",result=';
    await until("three probes have timed out", async () => {
      assertEquals((await turn(world, session)).endpoint, "e0");
      return await world.metric(`${series}"timed_out"}`) >= 3;
    });
    assertEquals(stateOf(world, "e0"), "ready");
  });
});

test("an engine whose health path hangs and that has answered nothing is ejected", async () => {
  const options = { engines: [{}, {}], config: PROBED };
  await withWorld(options, async (world) => {
    world.engines[0]?.faults.set({ hang: true }, { targetPrefix: "/health" });
    await untilState(world, "e0", "ejected");
    assertEquals(stateOf(world, "e1"), "ready");
    world.engines[0]?.faults.clear();
    await untilState(world, "e0", "ready");
  });
});

test("an engine that loads its model anew is left out meanwhile (PS #768)", async () => {
  const options = { engines: [{}, {}], config: PROBED };
  await withWorld(options, async (world) => {
    const session = await sessionOn(world, "e0");
    world.engines[0]?.faults.set({ status: 503 }, { targetPrefix: "/health" });
    await untilState(world, "e0", "ejected");
    const { endpoint, affinity } = await turn(world, session);
    assertEquals([endpoint, affinity], ["e1", "moved"]);
    world.engines[0]?.faults.clear();
    await untilState(world, "e0", "ready");
  });
});

test("the last endpoint is never ejected by traffic", async () => {
  const options = { engines: [{}, {}], config: UNPROBED };
  await withWorld(options, async (world) => {
    for (const engine of world.engines) await engine.kill();
    for (let i = 0; i < 12; i++) {
      const { status, reply } = await turn(world, `s-${i}`);
      assertEquals(status, 502, reply.body);
    }
    const states = ["e0", "e1"].map((id) => stateOf(world, id)).sort();
    assertEquals(states, ["ejected", "ready"]);
  });
});

test("an engine that starts after the gateway takes work by itself (F12 InferenceX #2255, PS #768)", async () => {
  const reserved = await startEngine();
  const { port, url } = reserved;
  await reserved.kill();
  const options = { config: PROBED, readyCount: 0 };
  await withGateway([{ url }], options, async (world) => {
    assertEquals((await turn(world, "s")).status, 503);
    assertEquals(world.gateway.control.readiness(), { eligible: 0, total: 1 });
    const told = () =>
      world.events.filter(({ event }) => event === "endpoint.probe_failed");
    await until("the failure is told", () => told().length > 0);
    await until("more probes have failed", async () =>
      await world.metric(
        'tryst_endpoint_probes_total{endpoint="e0",result="failed"}',
      ) >= 3);
    assertEquals(told().length, 1, "the same failure is told once");

    await using _engine = await startEngine({ port, speed: 1_000 });
    await world.gateway.ready(1);
    assertEquals((await turn(world, "s")).status, 200);
  });
});

test("with all engines down it answers 503 with Retry-After and request id (PS all refuse)", async () => {
  const options = { engines: [{}, {}], config: PROBED };
  await withWorld(options, async (world) => {
    for (const engine of world.engines) await engine.kill();
    for (const id of ["e0", "e1"]) await untilState(world, id, "ejected");
    const { status, reply } = await turn(world, "s");
    assertEquals(status, 503);
    assertEquals(JSON.parse(reply.body).error.code, "no_eligible_endpoint");
    assert(Number(reply.headers.get("retry-after")) > 0);
    assert((reply.headers.get("x-request-id") ?? "") !== "");
  });
});

test("an engine whose paths want a credential is probed and listed with it (PS #815, #631)", async () => {
  const secret = "Bearer 7b1e-secret";
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const { pathname } = new URL(request.url);
      if (request.headers.get("authorization") !== secret) {
        return new Response(null, { status: 503 });
      }
      return pathname === "/v1/models"
        ? Response.json({ data: [{ id: "private" }] })
        : new Response("ok");
    },
  );
  const servers = [{ url: `http://127.0.0.1:${server.addr.port}` }];
  const health = { path: "/private/live", headers: { Authorization: secret } };
  const without = { config: PROBED, readyCount: 0 };
  await withGateway(servers, without, async (world) => {
    await until(
      "probes fail",
      () => world.events.some(({ event }) => event === "endpoint.probe_failed"),
    );
    assertEquals(stateOf(world, "e0"), "probing");
  });
  const options = { ...without, endpoints: [{ health }] };
  await withGateway(servers, options, async (world) => {
    await untilState(world, "e0", "ready");
    const told = world.events.find(({ event }) => event === "endpoint.models");
    assertEquals(told?.fields.models, 1, "its list was read");
    assertNotMatch(JSON.stringify(world.events), /secret/);
  });
  const shown = summaryLines(
    configOf({ ...options, config: { health } }, servers),
  );
  assertNotMatch(shown.join("\n"), /secret/);
});

test("an engine that asks to be left alone gets no work until then, and is not ill", async () => {
  const options = { engines: [{}, {}], config: UNPROBED };
  await withWorld(options, async (world) => {
    const session = await sessionOn(world, "e0");
    const faults = world.engines[0]?.faults;
    faults?.set({ status: 503, retryAfter: "30" }, { times: 1 });
    const refused = await turn(world, session);
    assertEquals([refused.status, refused.endpoint], [503, "e0"]);
    assertEquals(refused.reply.headers.get("retry-after"), "30");
    for (let i = 0; i < 5; i++) {
      const spilled = await turn(world, session);
      assertEquals([spilled.endpoint, spilled.affinity], ["e1", "spilled"]);
      const anyone = placed(await call(world.port, post(CHAT, "{}")));
      assertEquals(anyone.endpoint, "e1");
    }
    assertEquals(stateOf(world, "e0"), "ready");
    world.engines[1]?.faults.set({ status: 429, retryAfter: "30" });
    assertEquals((await turn(world, `other-${session}`)).status, 429);
    const { endpoint, affinity } = await turn(world, session);
    assertEquals([endpoint, affinity], ["e0", "hit"], "all are busy");
  });
});

test("a draining endpoint finishes its stream and takes nothing more (PS #601)", async () => {
  const options = { engines: [{}, {}], config: PROBED };
  await withWorld(options, async (world) => {
    const { control } = world.gateway;
    const session = await sessionOn(world, "e0");
    world.engines[0]?.faults.set({ eventDelayMs: 30 }, { targetPrefix: CHAT });
    using client = await RawClient.connect(world.port);
    await client.send(
      post(CHAT, '{"stream":true}', [`x-session-id: ${session}`]),
    );
    await client.until(/data: /);
    assertEquals([control.drain("e0"), control.drain("e9")], [true, false]);
    const { endpoint, affinity } = await turn(world, session);
    assertEquals([endpoint, affinity], ["e1", "moved"]);
    assert((await client.reply()).body.includes("data: [DONE]"));
    const series = 'tryst_endpoint_probes_total{endpoint="e0",result="passed"}';
    const before = await world.metric(series);
    await until(
      "probes go on",
      async () => await world.metric(series) > before + 1,
    );
    assertEquals(stateOf(world, "e0"), "draining");
    await control.restore("e0");
    await untilState(world, "e0", "ready");
    assertEquals((await turn(world, session)).endpoint, "e1", "it stays moved");
  });
});

test("a reset of one stream does not spare, and does not doom, its engine", async () => {
  const options = { engines: [{}, {}], config: UNPROBED };
  await withWorld(options, async (world) => {
    const session = await sessionOn(world, "e0");
    const faults = world.engines[0]?.faults;
    const series = 'tryst_endpoint_failures{endpoint="e0"}';
    faults?.set({ resetAfterBytes: 40 }, { times: 2 });
    for (let i = 0; i < 2; i++) {
      const request = post(CHAT, '{"stream":true}', [
        `x-session-id: ${session}`,
      ]);
      const { isWhole, status } = await call(world.port, request);
      assertEquals([status, isWhole], [200, false]);
      assertEquals(await world.metric(series), 1, "the head ends the row");
    }
    assertEquals((await turn(world, session)).status, 200);
    assertEquals(await world.metric(series), 0);
    assertEquals(stateOf(world, "e0"), "ready");
  });
});
