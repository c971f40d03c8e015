/**
 * Probes over the real client, sockets in memory and a virtual clock.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { endpointSpec, HEALTH } from "../../tests/endpoint_spec.ts";
import { test } from "../../tests/leakproof.ts";
import {
  MemoryNetwork,
  type Script,
  VirtualClock,
} from "../../tests/memory_sockets.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { HealthSettings } from "../core/endpoints/health_settings.ts";
import { UpstreamClient } from "../upstream/client.ts";
import type { ProbeOutcome } from "./health_book.ts";
import { Prober } from "./prober.ts";

const encoder = new TextEncoder();

function spec(id: string, health: Partial<HealthSettings> = {}): EndpointSpec {
  return endpointSpec(id, {
    basePath: "/base",
    health: { ...HEALTH, ...health },
  });
}

function answer(status: number, body = ""): Script {
  return [
    encoder.encode(
      `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ),
  ];
}

/** Probes every endpoint in `due` until that is emptied. */
function world(
  scripts: readonly (Script | "hang" | "refuse")[],
  due: EndpointSpec[],
) {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(scripts);
  const clients: UpstreamClient[] = [];
  const connect = () => {
    const client = new UpstreamClient(
      { clock, dial: network.dial },
      { connectMs: 60_000, idleMs: Infinity },
    );
    clients.push(client);
    return client;
  };
  const sum = (count: (client: UpstreamClient) => number) =>
    clients.reduce((total, client) => total + count(client), 0);
  const outcomes: [id: string, outcome: ProbeOutcome][] = [];
  const prepared: string[] = [];
  const prober = new Prober({
    clock,
    connect,
    credentialOf: () => undefined,
    due: () => due,
    prepare: ({ id }) => {
      prepared.push(id);
      return Promise.resolve();
    },
    report: (id, outcome) => {
      due.splice(due.findIndex((spec) => spec.id === id), 1);
      outcomes.push([id, outcome]);
    },
  });
  const sent = (index: number) =>
    network.sockets[index]?.written.map((bytes) =>
      new TextDecoder().decode(bytes)
    ).join("") ?? "";
  const close = async () => {
    prober.stop();
    await clock.advance(0);
    assertEquals([clock.timerCount, openCount()], [0, 0]);
  };
  const openCount = () => sum(({ openCount }) => openCount);
  const inFlightCount = () => sum(({ inFlightCount }) => inFlightCount);
  const counts = { openCount, inFlightCount };
  return { clock, network, counts, outcomes, prepared, prober, sent, close };
}

test("a probe is what its last answer says", async () => {
  const rows: [
    scripts: readonly (Script | "hang" | "refuse")[],
    path: string,
    result: string,
    detail: RegExp,
  ][] = [
    [["refuse"], "auto", "failed", /refused/],
    [[[null]], "auto", "failed", /ended the connection/],
    [[[encoder.encode("SSH-2.0\r\n\r\n")]], "auto", "failed", /Cannot read/],
    [["hang"], "auto", "timed_out", /health\.timeout, 2000 ms$/],
    [[[]], "auto", "timed_out", /health\.timeout, 2000 ms$/],
    [[answer(404), []], "auto", "timed_out", /health\.timeout/],
    [[answer(404), "refuse"], "auto", "failed", /refused/],
    [[answer(503)], "auto", "failed", /^GET \/health answered 503$/],
    [[answer(500)], "/live", "failed", /^GET \/live answered 500$/],
    [[answer(404), answer(500)], "auto", "failed", /^GET \/v1\/models answere/],
    [[answer(404), answer(404)], "auto", "passed", /answered 404$/],
    [[answer(404), answer(200)], "auto", "passed", /^GET \/v1\/models answere/],
    [[answer(405), answer(200)], "auto", "passed", /^GET \/v1\/models answere/],
    [[answer(501), answer(501)], "auto", "passed", /^GET \/v1\/models answere/],
    [[answer(404)], "/live", "passed", /^GET \/live answered 404$/],
    [[answer(401)], "auto", "passed", /^GET \/health answered 401$/],
    [[answer(429)], "auto", "passed", /^GET \/health answered 429$/],
    [[answer(204)], "/", "passed", /^GET \/ answered 204$/],
    [[answer(200, "ok")], "auto", "passed", /^GET \/health answered 200$/],
  ];
  for (const [scripts, path, result, detail] of rows) {
    const { clock, counts, outcomes, prepared, prober, close } = world(
      scripts,
      [spec("a", { path })],
    );
    prober.run();
    await clock.advance(1_999);
    const isEarly = result !== "timed_out";
    assertEquals(outcomes.length, isEarly ? 1 : 0, `${detail}`);
    await clock.advance(1);
    const [id, outcome] = outcomes[0] ?? [];
    assertEquals([id, outcome?.result], ["a", result], `${detail}`);
    assertMatch(outcome?.detail ?? "", detail);
    assertEquals(prepared.length, result === "passed" ? 1 : 0);
    assertEquals([counts.inFlightCount(), counts.openCount()], [0, 0]);
    await close();
  }
});

test("a probe goes to the base path with its headers, on its last request", async () => {
  const { clock, prober, sent, close } = world([answer(200)], [
    spec("a", {
      path: "/live?full=1",
      headers: [["authorization", "Bearer x"]],
    }),
  ]);
  prober.run();
  await clock.advance(0);
  assertMatch(sent(0), /^GET \/base\/live\?full=1 HTTP\/1\.1\r\n/);
  for (
    const line of ["host: a:1", "connection: close", "authorization: Bearer x"]
  ) assert(sent(0).includes(`\r\n${line}\r\n`), line);
  await close();
});

test("auto asks for what answered last time, until it fails", async () => {
  const due = [spec("a")];
  const scripts = [
    answer(404),
    answer(200),
    answer(200),
    answer(503),
    answer(200),
  ];
  const { clock, prober, sent, network, close } = world(scripts, due);
  for (let i = 0; i < 4; i++) {
    if (i > 0) due.push(spec("a"));
    prober.run();
    await clock.advance(1);
  }
  const targets = network.sockets.map((_, index) => sent(index).split(" ")[1]);
  assertEquals(targets, [
    "/base/health",
    "/base/v1/models",
    "/base/v1/models",
    "/base/v1/models",
    "/base/health",
  ]);
  await close();
});

test("at most one probe an endpoint and 32 in all are under way", async () => {
  const due = Array.from({ length: 40 }, (_, at) => spec(`e${at}`));
  const { clock, counts, outcomes, prober, close } = world(
    Array.from({ length: 80 }, () => "hang"),
    due,
  );
  prober.run();
  prober.run();
  assertEquals(counts.inFlightCount(), 32);
  await clock.advance(2_000);
  assertEquals([outcomes.length, counts.inFlightCount()], [32, 8]);
  await clock.advance(2_000);
  assertEquals([outcomes.length, counts.inFlightCount()], [40, 0]);
  assertEquals(new Set(outcomes.map(([id]) => id)).size, 40);
  await close();
});

test("stop() breaks probes off, and nothing is reported after it", async () => {
  for (const script of ["hang", []] as const) {
    const { clock, counts, outcomes, prober, close } = world(
      [script],
      [spec("a")],
    );
    prober.run();
    await clock.advance(10);
    prober.stop();
    await clock.advance(10_000);
    assertEquals([outcomes.length, counts.inFlightCount()], [0, 0]);
    await close();
  }
});
