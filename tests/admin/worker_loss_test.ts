/**
 * Workers that die or hang under load, in a process of their own: what is
 * lost is theirs, and everything they held is taken back.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { GatedEngine } from "../binary/gated_engine.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { type Served, serveProgram, until } from "./program.ts";

/** What the workers hold, as `mortal_gateway.ts` prints it. */
interface Held {
  readonly places: readonly number[];
  readonly requests: readonly number[];
  readonly received: readonly number[];
  readonly allRequests: number;
  readonly pins: number;
}

/** A gateway of two mortal workers. */
interface World {
  readonly served: Served;
  readonly engine: GatedEngine;
  held(): Promise<Held>;
}

async function withWorld(body: (world: World) => Promise<void>) {
  await using engine = new GatedEngine();
  await using served = await serveProgram(
    [
      "workers: 2",
      "session: { capacity: 1024 }",
      "stop: { deadline: 10m }",
      `endpoints: [{ id: e, url: ${engine.url} }]`,
    ].join("\n"),
    new URL("./mortal_gateway.ts", import.meta.url),
  );
  let heldCount = 0;
  const held = async () => {
    heldCount++;
    await served.say("held");
    const pattern = new RegExp(`(?:^held (.*)\n[^]*?){${heldCount}}`, "m");
    const [, text = "{}"] = await served.process.until("out", pattern);
    return JSON.parse(text);
  };
  await body({ served, engine, held });
}

/** A connection and the worker that has accepted it. */
interface Owned extends Disposable {
  readonly client: RawClient;
  readonly worker: number;
}

/** Connects and asks once, so that the counters tell who was asked. */
async function connect(world: World, isStream: boolean): Promise<Owned> {
  const before = await world.held();
  const client = await RawClient.connect(world.served.port);
  await client.send(turn(isStream));
  if (isStream) await client.until(/"n":1/);
  else await client.reply();
  const after = await world.held();
  const worker = after.received.findIndex((count, index) =>
    count > (before.received[index] ?? 0)
  );
  assert(worker >= 0, "no worker has counted the request");
  return { client, worker, [Symbol.dispose]: () => client.close() };
}

/** Connections of both workers, two each at least. */
async function connectBoth(world: World, isStream: boolean): Promise<Owned[]> {
  const all: Owned[] = [];
  const of = (worker: number) => all.filter((one) => one.worker === worker);
  while (of(0).length < 2 || of(1).length < 2) {
    assert(all.length < 64, "the kernel gives one worker every connection");
    all.push(await connect(world, isStream));
  }
  return all;
}

function turn(isStream: boolean): string {
  return post("/v1/chat/completions", `{"stream":${isStream},"model":"sim"}`, [
    `x-session-id: s-${Math.floor(Math.random() * 100)}`,
  ]);
}

/** Everything that requests hold is given back. */
async function untilNothingIsHeld(world: World): Promise<void> {
  await until("nothing to be in flight", async () => {
    const { body } = await world.served.admin("/endpoints");
    return JSON.parse(body).endpoints[0].in_flight === 0;
  });
  const { allRequests, pins, places, requests } = await world.held();
  assertEquals(
    { allRequests, pins, places, requests },
    { allRequests: 0, pins: 0, places: [0, 0], requests: [0, 0] },
  );
}

async function readiness(served: Served) {
  const { status, body } = await served.admin("/readyz");
  return { ...JSON.parse(body), status };
}

function untilServing(served: Served, count: number): Promise<void> {
  return until(
    `${count} workers to serve`,
    async () => (await readiness(served)).workers.serving === count,
  );
}

test("a worker that dies loses its own streams and no other (supervisor)", async () => {
  await withWorld(async (world) => {
    const { engine, served } = world;
    const streams = await connectBoth(world, true);
    const before = await world.held();
    assertEquals(before.allRequests, streams.length);
    assertEquals(before.pins, streams.length);
    await served.say("crash 1");
    await served.process.until("err", /worker\.died worker=1 reason=.*planted/);
    await untilServing(served, 2);
    // What the living worker holds is what is left, before anything ends.
    const own = streams.filter(({ worker }) => worker === 0).length;
    const after = await world.held();
    assertEquals(after.places, [own, 0]);
    assertEquals(after.requests, [own, 0]);
    assertEquals([after.allRequests, after.pins], [own, own]);
    const { body } = await served.admin("/endpoints");
    assertEquals(JSON.parse(body).endpoints[0].in_flight, own);
    engine.open();
    for (const { client, worker } of streams) {
      assertEquals((await client.reply()).isWhole, worker === 0);
      client.close();
    }
    await untilNothingIsHeld(world);
  });
});

test("a worker that dies under load breaks its own connections, once each", async () => {
  await withWorld(async (world) => {
    const { served } = world;
    const owned = await connectBoth(world, false);
    let isOver = false;
    const answered = owned.map(() => 0);
    const broken = owned.map(() => 0);
    const load = owned.map(async (one, at) => {
      let { client } = one;
      while (!isOver) {
        try {
          await client.send(turn(false));
          const { status, isWhole } = await client.reply();
          assertEquals([status, isWhole], [200, true]);
          answered[at] = (answered[at] ?? 0) + 1;
        } catch (error) {
          if (error instanceof Deno.errors.ConnectionRefused) throw error;
          broken[at] = (broken[at] ?? 0) + 1;
          client.close();
          client = await RawClient.connect(served.port);
        }
      }
      client.close();
    });
    const untilAnswered = (count: number) => {
      const wanted = answered.map((before) => before + count);
      return until(
        "answers on every connection",
        () => answered.every((now, at) => now >= (wanted[at] ?? 0)),
      );
    };
    await untilAnswered(5);
    await served.say("crash 0");
    await served.process.until("err", /worker\.replaced worker=0/);
    await untilAnswered(5);
    isOver = true;
    await Promise.all(load);
    for (const [at, { worker }] of owned.entries()) {
      if (worker === 1) assertEquals(broken[at], 0);
      else assert((broken[at] ?? 0) >= 1, `connection ${at} was not broken`);
    }
    assertEquals((await readiness(served)).status, 200);
    await untilNothingIsHeld(world);
  });
});

test("workers that die again and again are told by readiness, and recover", async () => {
  await withWorld(async (world) => {
    const { served } = world;
    await served.say("curse");
    await served.say("crash 0");
    await untilServing(served, 1);
    // One is enough to serve, and the other is told to be missing.
    const one = await readiness(served);
    assertEquals([one.status, one.workers], [200, { serving: 1, wanted: 2 }]);
    await served.say("crash 1");
    await served.process.until("err", /(worker\.died.*cursed[^]*){4}/);
    const none = await readiness(served);
    assertEquals([none.status, none.reason], [503, "0 of 2 workers serve"]);
    await served.say("bless");
    await untilServing(served, 2);
    using owned = await connect(world, false);
    assert(owned.worker >= 0);
    await untilNothingIsHeld(world);
  });
});

test("a worker that hangs ends the process once the others have finished", async () => {
  await withWorld(async (world) => {
    const { engine, served } = world;
    const streams = await connectBoth(world, true);
    await served.say("hang 0");
    await served.process.until("err", /worker\.hung worker=0/);
    await served.process.until("err", /gateway\.stopping cause="worker 0"/);
    const { reason, status } = await readiness(served);
    assertEquals([status, reason], [503, "stopping"]);
    engine.open();
    for (const { client, worker } of streams) {
      if (worker === 1) assert((await client.reply()).isWhole);
    }
    const { code, err } = await served.process.ended();
    assertEquals(code, 1, err);
    const lost = streams.filter(({ worker }) => worker === 0);
    assert(err.includes(`gateway.stopped requests_cut=${lost.length}\n`), err);
    for (const { client } of lost) {
      assertEquals((await client.reply()).isWhole, false);
    }
    for (const { client } of streams) client.close();
  });
});
