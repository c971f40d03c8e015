/**
 * The phases that requests go through, as the log tells and histograms count.
 *
 * Every other test of a world checks that trails are legal; these check that
 * they are the expected ones.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { trailOf } from "./phase_trail.ts";
import { RawClient } from "./raw_client.ts";
import { bare, post } from "./requests.ts";
import { withWorld, type World, type WorldOptions } from "./world.ts";

const CHAT = "/v1/chat/completions";

/** The way of a request whose first attempt is answered. */
const STRAIGHT = [
  "accept",
  "sniff",
  "key",
  "rank",
  "admit",
  "attempt",
  "relay",
  "settle",
];

/** The way up to a phase, and from there to the end. */
function endedIn(phase: string): string[] {
  return [...STRAIGHT.slice(0, STRAIGHT.indexOf(phase) + 1), "settle"];
}

interface Row {
  readonly name: string;
  readonly request: string;
  readonly options?: Partial<WorldOptions>;
  /** What goes wrong with the engines first. */
  readonly prepare?: (world: World) => void | Promise<void>;
  readonly status: number;
  readonly trail: readonly string[];
}

const ID = ["x-request-id: mine"];

/** A session whose first rank is `e1`: hashes are the same for ever. */
const FIRST_TO_E1 = "x-session-id: s-1";

const ROWS: readonly Row[] = [
  {
    name: "a head that cannot be forwarded",
    request: `GET /x HTTP/1.1\r\nHost: a/b\r\n${ID}\r\n\r\n`,
    status: 400,
    trail: endedIn("accept"),
  },
  {
    name: "more requests than the gateway takes",
    request: bare("GET", "/", ID),
    options: { config: { limits: { requests: 1 } } },
    prepare: async ({ engines, port }) => {
      engines[0]?.faults.set({ hang: true }, { targetPrefix: "/hang" });
      const busy = await RawClient.connect(port);
      await busy.send(post("/hang", "{}"));
      await engines[0]?.until(({ target }) => target === "/hang");
      // By then the other request has been refused; nothing waits for it.
      setTimeout(() => busy.close(), 200);
    },
    status: 429,
    trail: endedIn("accept"),
  },
  {
    name: "a body over the limit",
    request: post(CHAT, `{"a":"${"x".repeat(2_000)}"}`, ID),
    options: { config: { limits: { body: 1_024 } } },
    status: 413,
    trail: endedIn("sniff"),
  },
  {
    name: "a model that nobody has",
    request: post(CHAT, '{"model":"c"}', ID),
    options: { engines: [{ models: ["a"] }, { models: ["b"] }] },
    status: 404,
    trail: endedIn("rank"),
  },
  {
    name: "no endpoint that takes work",
    request: post(CHAT, "{}", ID),
    prepare: ({ gateway }) => void gateway.control.drain("e0"),
    status: 503,
    trail: endedIn("admit"),
  },
  {
    name: "an engine that breaks off before it answers",
    request: post(CHAT, "{}", ID),
    prepare: ({ engines }) => engines[0]?.faults.set({ resetBeforeHead: true }),
    status: 502,
    trail: endedIn("attempt"),
  },
  {
    name: "failover that finds nobody",
    request: bare("GET", "/", ID),
    prepare: ({ engines }) => engines[0]?.faults.set({ resetBeforeHead: true }),
    status: 502,
    trail: [...STRAIGHT.slice(0, 6), "admit", "settle"],
  },
  {
    name: "failover that finds another",
    request: bare("GET", "/echo", [...ID, FIRST_TO_E1]),
    options: { engines: [{}, {}] },
    prepare: ({ engines }) => engines[1]?.faults.set({ resetBeforeHead: true }),
    status: 200,
    trail: [...STRAIGHT.slice(0, 6), ...STRAIGHT.slice(4)],
  },
  {
    name: "failover that fails too",
    request: bare("GET", "/echo", ID),
    options: { engines: [{}, {}] },
    prepare: ({ engines }) =>
      engines.forEach(({ faults }) => faults.set({ resetBeforeHead: true })),
    status: 502,
    trail: [...STRAIGHT.slice(0, 6), "admit", "attempt", "settle"],
  },
  {
    name: "an answer in one piece",
    request: post(CHAT, "{}", ID),
    status: 200,
    trail: STRAIGHT,
  },
  {
    name: "an answer that streams",
    request: post(CHAT, '{"stream":true}', ID),
    status: 200,
    trail: STRAIGHT,
  },
];

for (const row of ROWS) {
  test(`phases: ${row.name}`, async () => {
    const options = { engines: [{}], ...row.options };
    await withWorld(options, async (world) => {
      await row.prepare?.(world);
      using client = await RawClient.connect(world.port);
      await client.send(row.request);
      const reply = await client.reply();
      assertEquals(reply.status, row.status, reply.body);
      await world.idle();
      assertEquals(trailOf(world.phases, "mine"), row.trail);
    });
  });
}

test("phases: a client that leaves a stream, whose relay settles", async () => {
  await withWorld({ engines: [{}] }, async (world) => {
    world.engines[0]?.faults.set({ eventDelayMs: 100 }, { targetPrefix: CHAT });
    using client = await RawClient.connect(world.port);
    await client.send(post(CHAT, '{"stream":true,"max_tokens":100}', ID));
    await client.until(/data: /);
    client.close();
    await world.idle();
    assertEquals(trailOf(world.phases, "mine"), STRAIGHT);
  });
});

test("phases are counted, and last as long as they take", async () => {
  await withWorld({ engines: [{}] }, async (world) => {
    const { engines, metric, port } = world;
    engines[0]?.faults.set(
      { firstByteDelayMs: 60, eventDelayMs: 30 },
      { targetPrefix: CHAT },
    );
    for (const stream of [false, true]) {
      using client = await RawClient.connect(port);
      await client.send(post(CHAT, JSON.stringify({ stream, max_tokens: 2 })));
      assertEquals((await client.reply()).status, 200);
    }
    engines[0]?.faults.set({ resetBeforeHead: true });
    using client = await RawClient.connect(port);
    await client.send(post(CHAT, "{}"));
    assertEquals((await client.reply()).status, 502);
    await world.idle();
    const phase = (name: string, what: string) =>
      metric(`tryst_phase_seconds_${what}{phase="${name}"}`);
    const counts = STRAIGHT.map((name) => phase(name, "count"));
    assertEquals(await Promise.all(counts), [3, 3, 3, 3, 3, 3, 2, 3]);
    assertEquals(await metric("tryst_request_seconds_count"), 3);
    assertEquals(await metric("tryst_first_byte_seconds_count"), 2);
    // Each reading of the clock may lie up to a tick before the timer's.
    const attemptS = await phase("attempt", "sum");
    assert(attemptS >= 0.118, `${attemptS} s in attempts`);
    const relayS = await phase("relay", "sum");
    assert(relayS >= 0.029, `${relayS} s in relays`);
    const firstS = await metric("tryst_first_byte_seconds_sum");
    assert(firstS >= 0.118, `${firstS} s to first bytes`);
    const sums = await Promise.all(STRAIGHT.map((name) => phase(name, "sum")));
    assertAlmostEquals(
      await metric("tryst_request_seconds_sum"),
      sums.reduce((sum, s) => sum + s, 0),
    );
  });
});
