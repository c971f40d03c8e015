/**
 * Waiting for a full engine, over real sockets: who is served when, and how a
 * wait can end.
 *
 * Invariant: the engine answers exactly when the test says so, so no order
 * here depends on how fast anything is.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import type { Peer } from "../scripted_server.ts";
import { call, RawClient } from "./raw_client.ts";
import { post } from "./requests.ts";
import { type ScriptOptions, withScript } from "./scripted_engine.ts";
import type { GatewayWorld } from "./world.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Answers when it is told to, and notes what has come. */
class GatedEngine {
  /** Paths in the order in which they came. */
  readonly came: string[] = [];
  readonly #open: { path: string; peer: Peer }[] = [];
  #waiting: (() => void)[] = [];

  readonly script = (peer: Peer, request: string): Promise<void> => {
    const path = /^\S+ (\S+)/.exec(request)?.[1] ?? "";
    this.came.push(path);
    this.#open.push({ path, peer });
    for (const wake of this.#waiting.splice(0)) wake();
    return Promise.resolve();
  };

  /** Resolves once `count` requests have come in all. */
  async until(count: number): Promise<void> {
    while (this.came.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Answers the request that has been open for the longest. */
  async answer(bytes = OK): Promise<void> {
    await this.#open.shift()?.peer.send(bytes);
  }
}

/** A gateway with one engine that takes one request at a time. */
async function withGate(
  body: (world: GatewayWorld, engine: GatedEngine) => Promise<void>,
  options: ScriptOptions = {},
): Promise<void> {
  const engine = new GatedEngine();
  await withScript(engine.script, (world) => body(world, engine), {
    endpoints: [{ max_in_flight: 1 }],
    ...options,
  });
}

/** Sends a request that the gateway is to answer later. */
async function send(
  { port }: GatewayWorld,
  path: string,
  headers: readonly string[] = [],
): Promise<RawClient> {
  const client = await RawClient.connect(port);
  await client.send(post(path, "{}", headers));
  return client;
}

/** Resolves once `count` calls wait. */
async function untilWaiting(
  { gateway }: GatewayWorld,
  count: number,
): Promise<void> {
  for (let look = 0; look < 400; look++) {
    if (gateway.assembly.admission.waitingCount === count) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assertEquals(gateway.assembly.admission.waitingCount, count);
}

/** Queues requests one after the other; their clients, in that order. */
async function queue(
  world: GatewayWorld,
  requests: readonly (readonly [path: string, headers: readonly string[]])[],
): Promise<RawClient[]> {
  const clients: RawClient[] = [];
  for (const [path, headers] of requests) {
    clients.push(await send(world, path, headers));
    await untilWaiting(world, clients.length);
  }
  return clients;
}

test("requests wait for a full engine, by priority and then in order", async () => {
  await withGate(async (world, engine) => {
    using first = await send(world, "/first");
    await engine.until(1);
    const clients = await queue(world, [
      ["/late", ["X-Tryst-Priority: -5"]],
      ["/one", []],
      ["/two", []],
      ["/soon", ["X-Tryst-Priority: 9"]],
    ]);
    assertMatch(
      await world.gateway.control.metrics.metrics(),
      /^tryst_endpoint_in_flight\S* 1$/m,
    );
    for (let served = 1; served <= 5; served++) {
      await engine.answer();
      await engine.until(Math.min(served + 1, 5));
    }
    // Priorities over queue.priority_max, 0 by default, count as that.
    assertEquals(engine.came, ["/first", "/one", "/two", "/soon", "/late"]);
    assertEquals((await first.reply()).headers.get("x-tryst-queue-ms"), "0");
    for (const client of clients) {
      const { headers, status } = await client.reply();
      assertEquals(status, 200);
      assert(Number(headers.get("x-tryst-queue-ms")) > 0);
      client.close();
    }
  });
});

test("a client that leaves the queue never reaches the engine", async () => {
  await withGate(async (world, engine) => {
    using _first = await send(world, "/first");
    await engine.until(1);
    const [left, stays] = await queue(world, [["/left", []], ["/stays", []]]);
    left?.close();
    await untilWaiting(world, 1);
    await engine.answer();
    await engine.until(2);
    await engine.answer();
    assertEquals((await stays?.reply())?.status, 200);
    assertEquals(engine.came, ["/first", "/stays"]);
    stays?.close();
  });
});

test("a hint that is no value is refused, and names the header", async () => {
  await withGate(async ({ port }) => {
    const hints = [
      "X-Tryst-Priority: high",
      "X-Tryst-Priority: 1.5",
      "X-Tryst-Expected-Ms: -1",
      "X-Session-Final: maybe",
    ];
    for (const hint of hints) {
      const { body, status } = await call(port, post("/v1/x", "{}", [hint]));
      assertEquals(status, 400);
      assertMatch(body, new RegExp(hint.split(":")[0] ?? "", "i"));
    }
  });
});

test("a call that failed over waits for the engine that is left", async () => {
  const engine = new GatedEngine();
  const endpoints = [{ max_in_flight: 1 }, { max_in_flight: 1 }];
  let broken = "";
  await withScript(
    async (peer, request) => {
      // Whichever engine gets it first drops it, unread as far as it knows.
      if (request.startsWith("GET /moves ") && broken === "") {
        broken = "dropped";
        return peer.close();
      }
      await engine.script(peer, request);
    },
    async (world) => {
      using busy = await send(world, "/busy");
      await engine.until(1);
      using moves = await RawClient.connect(world.port);
      await moves.send("GET /moves HTTP/1.1\r\nHost: gateway\r\n\r\n");
      await untilWaiting(world, 1);
      await engine.answer();
      await engine.until(2);
      await engine.answer();
      assertEquals((await busy.reply()).status, 200);
      const { headers, status } = await moves.reply();
      assertEquals([status, headers.get("x-tryst-attempts")], [200, "2"]);
    },
    { models: [[], []], endpoints },
  );
});

test("a session waits for its own engine, and then takes another", async () => {
  const engine = new GatedEngine();
  await withScript(engine.script, async (world) => {
    const session = ["X-Session-Id: s"];
    using first = await send(world, "/first", session);
    await engine.until(1);
    await engine.answer();
    const own = (await first.reply()).headers.get("x-tryst-endpoint");
    using holder = await send(world, "/holder", session);
    await engine.until(2);
    // The other engine is free all the time.
    const [hit] = await queue(world, [["/hit", session]]);
    await engine.answer();
    await engine.until(3);
    const [spilled] = await queue(world, [["/spilled", session]]);
    await engine.until(4);
    await engine.answer();
    await engine.answer();
    assertEquals((await holder.reply()).status, 200);
    const one = (await hit?.reply())?.headers;
    const two = (await spilled?.reply())?.headers;
    assertEquals(one?.get("x-tryst-affinity"), "hit");
    assertEquals(one?.get("x-tryst-endpoint"), own);
    assertEquals(two?.get("x-tryst-affinity"), "spilled");
    assert(Number(two?.get("x-tryst-queue-ms")) >= 300);
    hit?.close();
    spilled?.close();
    // The binding stays.
    using last = await send(world, "/last", session);
    await engine.until(5);
    await engine.answer();
    assertEquals((await last.reply()).headers.get("x-tryst-affinity"), "hit");
  }, {
    models: [[], []],
    endpoints: [{ max_in_flight: 1 }, { max_in_flight: 1 }],
    config: { routing: { affinity_patience: "300ms" } },
  });
});

test("x-session-final ends the session with its call", async () => {
  await withGate(async (world, engine) => {
    const outcomes: (string | undefined)[] = [];
    const finals = [[], ["X-Session-Final: true"], []];
    for (const [index, final] of finals.entries()) {
      using client = await send(world, `/${index}`, [
        "X-Session-Id: s",
        ...final,
      ]);
      await engine.until(index + 1);
      await engine.answer();
      outcomes.push((await client.reply()).headers.get("x-tryst-affinity"));
    }
    assertEquals(outcomes, ["new", "hit", "new"]);
    await world.idle();
  });
});

test("what waits when the gateway is cut is told so (fault 12)", async () => {
  await withGate(async (world, engine) => {
    using first = await send(world, "/first");
    await engine.until(1);
    const [waits] = await queue(world, [["/waits", []]]);
    world.gateway.assembly.gateway.close();
    const reply = await waits?.reply();
    assertEquals(reply?.status, 503);
    assertEquals(reply?.headers.get("x-tryst-error"), "gateway_stopping");
    waits?.close();
    await engine.answer();
    assertEquals((await first.reply()).status, 200);
  });
});

test("failed calls add no service, served ones do (fault 10)", async () => {
  await withGate(async (world, engine) => {
    const { sessions } = world.gateway.control.state;
    const session = ["X-Session-Id: s"];
    let count = 0;
    const served = async (answer: string) => {
      using client = await send(world, "/v1/x", session);
      await engine.until(++count);
      await new Promise((resolve) => setTimeout(resolve, 30));
      await engine.answer(answer);
      await client.reply();
      await world.idle();
      let attainedMs = -1;
      sessions.sweep(
        { from: 0, count: sessions.capacity, nowMs: Date.now() },
        (view) => attainedMs = view.attainedMs,
      );
      return attainedMs;
    };
    const refused = OK.replace("200 OK", "400 Bad Request");
    assertEquals(await served(refused), 0);
    assertEquals(await served(OK.replace("200 OK", "500 Oops")), 0);
    assert(await served(OK) >= 20);
  });
});

const STREAM_BODY = '{"model":"m","stream":true}';
const KEPT_ALIVE = {
  config: { queue: { keepalive: "1s", overdue: "none" } },
};

/** Queues a request for a stream behind another one. */
async function queueStream(
  world: GatewayWorld,
  engine: GatedEngine,
  body: string,
): Promise<[first: RawClient, stream: RawClient]> {
  const first = await send(world, "/first");
  await engine.until(1);
  const stream = await RawClient.connect(world.port);
  await stream.send(post("/v1/chat/completions", body));
  await untilWaiting(world, 1);
  return [first, stream];
}

const SSE = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
  'Transfer-Encoding: chunked\r\n\r\nd\r\ndata: {"a":1}\r\n2\r\n\n\n\r\n0\r\n\r\n';
const BUSY = "HTTP/1.1 503 Busy\r\nContent-Type: application/json\r\n" +
  'Content-Length: 28\r\n\r\n{"error":{"message":"busy"}}';

const LATE_ANSWERS: [what: string, answer: string, event: RegExp][] = [
  ["a stream comes behind the comments", SSE, /: queued\n\n.*data: \{"a":1\}/s],
  ["an error becomes an event", BUSY, /data: \{"error":\{"message":"busy"\}\}/],
  [
    "what is no JSON becomes an error event",
    OK,
    /data: \{"error":.*neither an event stream nor JSON.*malformed/,
  ],
  [
    "a text of an error is told in the API's shape",
    OK.replace("200 OK", "500 Oops"),
    /data: \{"error":\{"message":"ok","type":"server_error",/,
  ],
];
for (const [what, answer, event] of LATE_ANSWERS) {
  test(`queue.keepalive: ${what}`, async () => {
    await withGate(async (world, engine) => {
      const [first, stream] = await queueStream(world, engine, STREAM_BODY);
      const head = await stream.until(/: queued\n\n/);
      assertMatch(head, /^HTTP\/1\.1 200 /);
      assertMatch(head, /content-type: text\/event-stream/);
      await engine.answer();
      await engine.until(2);
      await engine.answer(answer);
      assertMatch((await stream.reply()).body, event);
      first.close();
      stream.close();
    }, KEPT_ALIVE);
  });
}

test("queue.keepalive: a wait that is over becomes an error event", async () => {
  await withGate(async (world, engine) => {
    const [first, stream] = await queueStream(world, engine, STREAM_BODY);
    const { body, status } = await stream.reply();
    assertEquals(status, 200);
    assertMatch(body, /: queued\n\ndata: \{"error":.*"code":"queue_timeout"/s);
    stream.close();
    await engine.answer();
    await first.reply();
    first.close();
  }, {
    config: { ...KEPT_ALIVE.config, timeouts: { queue: "1500ms" } },
  });
});

test("queue.keepalive: a client that leaves its stream leaves the queue", async () => {
  await withGate(async (world, engine) => {
    const [first, stream] = await queueStream(world, engine, STREAM_BODY);
    await stream.until(/: queued\n\n/);
    stream.close();
    await untilWaiting(world, 0);
    await engine.answer();
    await first.reply();
    first.close();
    await world.idle();
    assertEquals(engine.came.length, 1);
  }, KEPT_ALIVE);
});

test("queue.keepalive: who asked for no events gets none", async () => {
  await withGate(async (world, engine) => {
    const [first, plain] = await queueStream(world, engine, "{}");
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await engine.answer();
    await engine.until(2);
    await engine.answer();
    assertEquals((await plain.reply()).body, "ok");
    first.close();
    plain.close();
  }, KEPT_ALIVE);
});
