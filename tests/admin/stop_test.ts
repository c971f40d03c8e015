/**
 * A gateway that is told to stop, as a process: what its clients see, how long
 * it takes, and what it ends with.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GATED_EVENTS, GatedEngine } from "../binary/gated_engine.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { bare, post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { type Served, serveProgram, until } from "./program.ts";

const STREAM = post("/v1/chat/completions", '{"stream":true}');

/** A gateway in front of an engine that holds back all but a first event. */
async function withGate(
  stop: string,
  body: (served: Served, engine: GatedEngine) => Promise<void>,
): Promise<void> {
  await using engine = new GatedEngine();
  await using served = await serveProgram(
    `workers: 2\nstop: { ${stop} }\nendpoints: [{ id: e, url: ${engine.url} }]`,
  );
  await body(served, engine);
}

/** A stream of which the first event has come. */
async function openStream(port: number): Promise<RawClient> {
  const client = await RawClient.connect(port);
  await client.send(STREAM);
  await client.until(/"n":1/);
  return client;
}

/** Resolves once nobody listens for clients any more. */
function untilRefused(port: number): Promise<void> {
  return until("connections to be refused", async () => {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return false;
    } catch (error) {
      if (error instanceof Deno.errors.ConnectionRefused) return true;
      throw error;
    }
  });
}

test("stop: running streams finish while nobody new is let in (F16 PostHog #73863, nvcf #1531)", async () => {
  await withGate("deadline: 10m", async (served, engine) => {
    const { admin, port, process } = served;
    const streams = await Promise.all([1, 2, 3, 4].map(() => openStream(port)));
    process.signal("SIGTERM");
    await process.until("err", /gateway\.stopping cause=SIGTERM/);
    await untilRefused(port);
    const readiness = await admin("/readyz");
    assertEquals(readiness.status, 503);
    assertEquals(JSON.parse(readiness.body).reason, "stopping");
    assertEquals((await admin("/healthz")).status, 200);
    const endpoints = JSON.parse((await admin("/endpoints")).body).endpoints;
    assertEquals(endpoints[0].in_flight, 4);
    engine.open();
    for (const stream of streams) {
      const reply = await stream.reply();
      assert(reply.isWhole);
      assertEquals(reply.body, GATED_EVENTS.first + GATED_EVENTS.last);
      // No further request is let in on the same connection either.
      assertEquals(await stream.toEnd(), "");
      stream.close();
    }
    const { code, err } = await process.ended();
    assertEquals(code, 0, err);
    assert(err.includes("gateway.stopped requests_cut=0"), err);
  });
});

test("stop: what has not finished by the deadline is cut and counted (F16 wso2 #2122)", async () => {
  await withGate("deadline: 800ms", async ({ admin, port, process }) => {
    using stream = await openStream(port);
    using upload = await RawClient.connect(port);
    await upload.send(post("/sink", "x".repeat(100_000)).slice(0, 50_000));
    await until("both heads to be read", async () => {
      const { body } = await admin("/metrics");
      return /^tryst_requests_received_total 2$/m.test(body);
    });
    process.signal("SIGTERM");
    const { code, err } = await process.ended();
    assertEquals(code, 1, err);
    assert(/gateway\.stopped requests_cut=2\n/.test(err), err);
    assertEquals((await stream.reply()).isWhole, false);
  });
});

test("stop: a request whose body is still coming is one that runs", async () => {
  await withGate("deadline: 10m", async ({ admin, port, process }, engine) => {
    engine.open();
    // The one is taken whole, the other is passed on as it comes.
    const uploads = await Promise.all([10_000, 100_000].map(async (length) => {
      const text = post("/v1/chat/completions", "x".repeat(length));
      const client = await RawClient.connect(port);
      await client.send(text.slice(0, length / 2));
      return { client, rest: text.slice(length / 2) };
    }));
    await until("two heads to be read", async () => {
      const { body } = await admin("/metrics");
      return /^tryst_requests_received_total 2$/m.test(body);
    });
    process.signal("SIGTERM");
    await process.until("err", /gateway\.stopping/);
    for (const { client, rest } of uploads) {
      await client.send(rest);
      const reply = await client.reply();
      assertEquals([reply.status, reply.isWhole], [200, true]);
      client.close();
    }
    const { code, err } = await process.ended();
    assertEquals(code, 0, err);
  });
});

test("stop: idle connections keep nothing (AB #2283)", async () => {
  await withGate("deadline: 10m", async ({ port, process }) => {
    using used = await RawClient.connect(port);
    await used.send(bare("GET", "/v1/models"));
    assertEquals((await used.reply()).status, 200);
    using unused = await RawClient.connect(port);
    using partial = await RawClient.connect(port);
    await partial.send("GET /v1/models HT");
    process.signal("SIGTERM");
    // Ten minutes would be longer than the wait for the end.
    const { code, err } = await process.ended();
    assertEquals(code, 0, err);
    for (const client of [used, unused, partial]) {
      assertEquals(await client.toEnd(), "");
    }
  });
});

test("stop: the second signal ends at once and counts what it cut", async () => {
  await withGate("deadline: 10m", async ({ port, process }) => {
    using stream = await openStream(port);
    process.signal("SIGINT");
    await process.until("err", /gateway\.stopping cause=SIGINT/);
    process.signal("SIGTERM");
    const { code, err } = await process.ended();
    assertEquals(code, 1, err);
    assert(/gateway\.cut signal=SIGTERM\n/.test(err), err);
    assert(/gateway\.stopped requests_cut=1\n/.test(err), err);
    assertEquals((await stream.reply()).isWhole, false);
  });
});

test("stop: readiness fails first, and requests are served meanwhile", async () => {
  const stop = "ready_grace: 10m, deadline: 10m";
  await withGate(stop, async ({ admin, port, process }) => {
    process.signal("SIGTERM");
    await process.until("err", /gateway\.stopping .*ready_grace_ms=600000/);
    const readiness = await admin("/readyz");
    assertEquals(readiness.status, 503);
    assertEquals(JSON.parse(readiness.body).reason, "stopping");
    for (const _ of [1, 2, 3]) {
      using client = await RawClient.connect(port);
      await client.send(bare("GET", "/v1/models"));
      assertEquals((await client.reply()).status, 200);
    }
    process.signal("SIGTERM");
    const { code, err } = await process.ended();
    // Nothing was open, so nothing was cut.
    assertEquals(code, 0, err);
  });
});

test("stop: the grace ends by itself", async () => {
  await withGate("ready_grace: 1ms", async ({ port, process }) => {
    process.signal("SIGTERM");
    assertEquals((await process.ended()).code, 0);
    await assertRejects(
      () => RawClient.connect(port),
      Deno.errors.ConnectionRefused,
    );
  });
});
