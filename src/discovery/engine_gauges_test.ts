/**
 * Questions for gauges: over the real client, first with sockets in memory and
 * a virtual clock, then over real sockets to servers of every kind.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startEngine } from "../../bench/engine/engine.ts";
import { endpointSpec } from "../../tests/endpoint_spec.ts";
import { test } from "../../tests/leakproof.ts";
import {
  MemoryNetwork,
  type Script,
  VirtualClock,
} from "../../tests/memory_sockets.ts";
import { type Peer, ScriptedServer } from "../../tests/scripted_server.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { EngineGauges } from "../core/engines/engine_metrics.ts";
import type { Address, LogFields } from "../core/outside.ts";
import { systemClock } from "../system/clock.ts";
import { createDial } from "../system/dial.ts";
import { UpstreamClient } from "../upstream/client.ts";
import { type GaugeSettings, GaugeWatch } from "./engine_gauges.ts";

const encoder = new TextEncoder();

const SETTINGS: GaugeSettings = { path: "/metrics", intervalMs: 2_000 };

const PAGE = "llamacpp:requests_processing 3\nllamacpp:requests_deferred 2\n";

function text(status: number, body = ""): string {
  return `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** An answer that leaves the connection open, after which it closes. */
function answer(status: number, body = ""): Script {
  const bytes = text(status, body).replace("\r\n", "\r\nConnection: close\r\n");
  return [encoder.encode(bytes), null];
}

/** A watch in a world of its own, where chance always says one half. */
function world(scripts: readonly (Script | "hang" | "refuse")[]) {
  const clock = new VirtualClock();
  const network = new MemoryNetwork(scripts);
  const upstream = new UpstreamClient(
    { clock, dial: network.dial },
    { connectMs: 60_000, idleMs: Infinity },
  );
  const reports: [id: string, gauges: EngineGauges][] = [];
  const logged: [event: string, fields: LogFields | undefined][] = [];
  const ready = new Set(["a", "b", "c"]);
  const watch = new GaugeWatch({
    clock,
    upstream,
    credentialOf: () => undefined,
    random: () => 0.5,
    log: (level, event, fields) => {
      assertEquals(level, "debug");
      logged.push([event, fields]);
    },
    isReady: (id) => ready.has(id),
    report: (id, gauges) => reports.push([id, gauges]),
  });
  const sent = (index: number) =>
    network.sockets[index]?.written.map((bytes) =>
      new TextDecoder().decode(bytes)
    ).join("") ?? "";
  const targets = () =>
    network.sockets.map((_, index) => sent(index).split(" ")[1]);
  const close = async () => {
    watch.stop();
    await clock.advance(0);
    assertEquals(upstream.inFlightCount, 0);
    upstream.close();
    await clock.advance(0);
    assertEquals([clock.timerCount, upstream.openCount], [0, 0]);
  };
  return {
    clock,
    network,
    upstream,
    reports,
    logged,
    ready,
    watch,
    sent,
    targets,
    close,
  };
}

test("a page is asked for under the base path, as probes ask", async () => {
  const { clock, watch, sent, reports, close } = world([answer(200, PAGE)]);
  const { health } = endpointSpec("a");
  const headers = [["authorization", "Bearer x"], ["accept", "a/b"]] as const;
  watch.watch(
    [endpointSpec("a", { basePath: "/base", health: { ...health, headers } })],
    { path: "/stats", intervalMs: 2_000 },
  );
  await clock.advance(1_000);
  assertMatch(sent(0), /^GET \/base\/stats HTTP\/1\.1\r\n/);
  for (
    const line of [
      "host: a:1",
      "accept: text/plain;version=0.0.4",
      "authorization: Bearer x",
    ]
  ) assert(sent(0).includes(`\r\n${line}\r\n`), line);
  assert(!sent(0).includes("a/b"));
  assertEquals(reports.length, 1);
  const [[id, gauges] = []] = reports;
  assertEquals([id, gauges?.running, gauges?.waiting], ["a", 3, 2]);
  await close();
});

/** More than is read of a page, and no end. */
const TOO_LARGE: Script = [
  encoder.encode("HTTP/1.1 200 X\r\nContent-Length: 9999999\r\n\r\n"),
  encoder.encode(PAGE),
  ...Array.from({ length: 64 }, () => new Uint8Array(65_536)),
];

/** First answers, and how long after their question the next one comes. */
const ANSWERS: [
  what: string,
  first: Script | "hang" | "refuse",
  nextMs: number,
  detail?: string,
][] = [
  ["refused", "refuse", 2_000],
  ["no connection", "hang", 3_000],
  ["no answer", [], 3_000],
  ["no rest", [encoder.encode("HTTP/1.1 200 X\r\nContent-")], 3_000],
  ["no body", [
    encoder.encode("HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\ntgi"),
  ], 3_000],
  ["closed", [null], 2_000],
  ["no HTTP", [encoder.encode("SSH-2.0\r\n\r\n")], 2_000],
  ["cut", [
    encoder.encode(`HTTP/1.1 200 X\r\nContent-Length: 999\r\n\r\n${PAGE}`),
    null,
  ], 2_000],
  ["500", answer(500, PAGE), 2_000],
  ["503", answer(503), 2_000],
  ["429", answer(429), 2_000],
  ["400", answer(400), 60_000, "GET /metrics answered 400"],
  ["401", answer(401), 60_000, "GET /metrics answered 401"],
  ["404", answer(404, PAGE), 60_000, "GET /metrics answered 404"],
  ["405", answer(405), 60_000, "GET /metrics answered 405"],
  ["501", answer(501), 60_000, "GET /metrics answered 501"],
  ["307", answer(307), 60_000, "GET /metrics answered 307"],
  [
    "204",
    [
      encoder.encode("HTTP/1.1 204 X\r\nConnection: close\r\n\r\n"),
      null,
    ],
    60_000,
    "GET /metrics answered 204",
  ],
  ["empty", answer(200), 60_000, "GET /metrics answered no known metric"],
  [
    "no metrics",
    answer(200, "<html>vllm:num_requests_running 1</html>"),
    60_000,
    "GET /metrics answered no known metric",
  ],
  [
    "too large",
    TOO_LARGE,
    60_000,
    "GET /metrics answered more than 4194304 bytes",
  ],
  ["silent", answer(200, "sglang:startup_seconds 1\n"), 2_000],
  ["read", answer(200, PAGE), 2_000],
];

test("an answer decides when the next question comes", async () => {
  for (const [what, first, nextMs, detail] of ANSWERS) {
    const { clock, watch, reports, logged, upstream, close, network } = world([
      first,
      answer(200, PAGE),
    ]);
    watch.watch([endpointSpec("a")], SETTINGS);
    await clock.advance(999);
    assertEquals(network.sockets.length, 0, what);
    const dialed = first === "refuse" || first === "hang" ? 0 : 1;
    await clock.advance(1);
    // A large page takes more turns than one step of the clock lets pass.
    for (let turn = 0; turn < 50; turn++) await clock.advance(0);
    await clock.advance(nextMs - 1);
    assertEquals(network.sockets.length, dialed, what);
    const isRead = what === "read" || what === "silent";
    assertEquals(reports.length, isRead ? 1 : 0, what);
    assertEquals(upstream.inFlightCount, 0, what);
    await clock.advance(1);
    assertEquals(network.sockets.length, dialed + 1, what);
    assertEquals(reports.at(-1)?.[1].running, 3, what);
    const told = detail === undefined
      ? []
      : [["endpoint.gauges_missing", { id: "a", detail }]];
    assertEquals(logged, told as typeof logged, what);
    await close();
  }
});

test("that a page is missing is told once, until there has been one", async () => {
  const { clock, watch, logged, targets, close } = world([
    answer(404),
    answer(404),
    answer(200, PAGE),
    answer(404),
    answer(404),
  ]);
  watch.watch([endpointSpec("a")], SETTINGS);
  await clock.advance(1_000 + 60_000);
  assertEquals([targets().length, logged.length], [2, 1]);
  await clock.advance(60_000);
  assertEquals([targets().length, logged.length], [3, 1]);
  // It may have moved, so it is looked for once more before it is missing.
  await clock.advance(2_000);
  assertEquals([targets().length, logged.length], [4, 1]);
  await clock.advance(2_000);
  assertEquals([targets().length, logged.length], [5, 2]);
  await clock.advance(59_000);
  assertEquals(targets().length, 5);
  await close();
});

test("a page that is not under the base path is looked for at the root", async () => {
  const { clock, watch, targets, reports, close } = world([
    answer(404),
    answer(200, PAGE),
    answer(200, PAGE),
    answer(404),
    answer(200, PAGE),
  ]);
  watch.watch([endpointSpec("a", { basePath: "/base" })], SETTINGS);
  await clock.advance(1_000 + 3 * 2_000);
  assertEquals(targets(), [
    "/base/metrics",
    "/metrics",
    "/metrics",
    "/metrics",
    "/base/metrics",
  ]);
  assertEquals(reports.length, 3);
  await close();
});

test("nobody looks at the root of a server that endpoints share", async () => {
  const address: Address = {
    kind: "tcp",
    hostname: "proxy",
    port: 1,
    tls: false,
  };
  const { clock, watch, targets, reports, close } = world([
    answer(404),
    answer(404),
    answer(200, PAGE),
  ]);
  const endpoints = [
    endpointSpec("a", { address, basePath: "/a" }),
    endpointSpec("b", { address, basePath: "/b" }),
  ];
  watch.watch(endpoints, SETTINGS);
  await clock.advance(3_000);
  assertEquals([targets(), reports], [["/a/metrics", "/b/metrics"], []]);
  await close();
});

test("one deadline is for all places together", async () => {
  const { clock, watch, network, upstream, logged, close } = world([[], []]);
  watch.watch([endpointSpec("a", { basePath: "/base" })], SETTINGS);
  await clock.advance(1_000 + 600);
  network.sockets[0]?.push(...answer(404));
  await clock.advance(399);
  assertEquals([network.sockets.length, upstream.inFlightCount], [2, 1]);
  await clock.advance(1);
  assertEquals([upstream.inFlightCount, logged], [0, []]);
  await close();
});

test("an endpoint that is not ready is not asked", async () => {
  const { clock, watch, ready, network, reports, close } = world([
    answer(200, PAGE),
  ]);
  ready.clear();
  watch.watch([endpointSpec("a")], SETTINGS);
  await clock.advance(20_000);
  assertEquals(network.sockets.length, 0);
  ready.add("a");
  await clock.advance(2_000);
  assertEquals(reports.length, 1);
  await close();
});

test("an endpoint is asked one question at a time, others meanwhile", async () => {
  const { clock, watch, upstream, network, close } = world([[], [], []]);
  const settings = { path: "/metrics", intervalMs: 10 };
  watch.watch([endpointSpec("a"), endpointSpec("b")], settings);
  await clock.advance(500);
  assertEquals([upstream.inFlightCount, network.sockets.length], [2, 2]);
  await close();
});

test("a reading is kept, and stale after 10 s", async () => {
  const { clock, watch, network, close } = world([answer(200, PAGE)]);
  assertEquals(watch.reading("a"), undefined);
  watch.watch([endpointSpec("a")], SETTINGS);
  assertEquals(watch.reading("a"), undefined);
  await clock.advance(1_000);
  const rows: [afterMs: number, isFresh: boolean][] = [
    [0, true],
    [9_999, true],
    [1, false],
    [60_000, false],
  ];
  for (const [afterMs, isFresh] of rows) {
    await clock.advance(afterMs);
    const reading = watch.reading("a");
    assertEquals([reading?.atMs, reading?.isFresh], [1_000, isFresh]);
    assertEquals(reading?.gauges.running, 3);
  }
  assert(network.sockets.length > 1);
  await close();
});

test("watch() forgets whom it does not list, and reports them no more", async () => {
  const { clock, watch, upstream, network, reports, close } = world([
    answer(200, PAGE),
    answer(200, PAGE),
    [],
    [],
  ]);
  const [a, b] = [endpointSpec("a"), endpointSpec("b")];
  watch.watch([a, b], SETTINGS);
  await clock.advance(1_000 + 2_000);
  assertEquals([reports.length, upstream.inFlightCount], [2, 2]);
  // Both are being asked; one goes, the other stays.
  watch.watch([b], SETTINGS);
  await clock.advance(0);
  assertEquals(upstream.inFlightCount, 0);
  assertEquals([watch.reading("a"), watch.reading("b")?.atMs], [
    undefined,
    1_000,
  ]);
  network.sockets[2]?.push(...answer(200, PAGE));
  await clock.advance(10_000);
  assertEquals(reports.length, 2);
  watch.watch([b], "none");
  await clock.advance(10_000);
  assertEquals([watch.reading("b"), clock.timerCount], [undefined, 0]);
  await close();
});

test("stop() breaks off what is open in every phase", async () => {
  const scripts: (Script | "hang")[] = [
    "hang",
    [],
    [encoder.encode("HTTP/1.1 200 X\r\n")],
    [encoder.encode("HTTP/1.1 200 X\r\nContent-Length: 99\r\n\r\ntgi_")],
  ];
  for (const script of scripts) {
    const { clock, watch, upstream, reports, close } = world([script]);
    watch.watch([endpointSpec("a")], SETTINGS);
    await clock.advance(1_500);
    assertEquals(upstream.inFlightCount, 1);
    watch.stop();
    await clock.advance(0);
    assertEquals([upstream.inFlightCount, upstream.openCount], [0, 0]);
    await clock.advance(100_000);
    assertEquals(reports, []);
    await close();
  }
});

test("intervals vary by a tenth each way, and starts are spread", () => {
  const delays: number[] = [];
  const clock = {
    nowMs: () => 0,
    after(delayMs: number, callback: () => void) {
      delays.push(delayMs);
      if (delays.length < 4) callback();
      return () => {};
    },
  };
  const chances = [0.25, 0, 0.5, 0.999];
  const { upstream } = world([]);
  const watch = new GaugeWatch({
    clock,
    upstream,
    credentialOf: () => undefined,
    random: () => chances.shift() ?? 0,
    log: () => {},
    isReady: () => false,
    report: () => {},
  });
  watch.watch([endpointSpec("a")], SETTINGS);
  assertEquals(delays.map(Math.round), [500, 1_800, 2_000, 2_200]);
  watch.stop();
});

/** Reports come within some 100 ms; who waits for this long waits in vain. */
const REPORTS_MS_MAX = 10_000;

/** Watches real servers until `count` reports have come. */
async function reported(
  endpoints: readonly EndpointSpec[],
  count: number,
  settings: GaugeSettings = { path: "/metrics", intervalMs: 10 },
): Promise<{ reports: [id: string, gauges: EngineGauges][] }> {
  const upstream = new UpstreamClient({
    clock: systemClock,
    dial: createDial(),
  });
  const reports: [id: string, gauges: EngineGauges][] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = new Error(`Cannot get ${count} reports in time`);
  const timer = setTimeout(() => reject(late), REPORTS_MS_MAX);
  const watch = new GaugeWatch({
    clock: systemClock,
    upstream,
    credentialOf: () => undefined,
    random: Math.random,
    log: () => {},
    isReady: () => true,
    report: (id, gauges) => {
      reports.push([id, gauges]);
      if (reports.length >= count) resolve();
    },
  });
  try {
    watch.watch(endpoints, settings);
    await promise;
  } finally {
    clearTimeout(timer);
    watch.stop();
    upstream.close();
  }
  return { reports };
}

function tcp(port: number): Address {
  return { kind: "tcp", hostname: "127.0.0.1", port, tls: false };
}

test("the simulated engine is read as vLLM is", async () => {
  await using engine = await startEngine({ speed: Infinity });
  const body = JSON.stringify({
    model: "sim",
    messages: [{ role: "user", content: "word ".repeat(400) }],
  });
  for (let turn = 0; turn < 2; turn++) {
    const answer = await fetch(`${engine.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    await answer.body?.cancel();
  }
  const { stats } = engine;
  const { reports } = await reported(
    [endpointSpec("a", { address: tcp(engine.port) })],
    1,
  );
  const [[, gauges] = []] = reports;
  assertEquals(gauges?.engine, "vllm");
  assertEquals([gauges?.running, gauges?.waiting], [0, 0]);
  assertEquals(gauges?.prefixQueries, stats.prefixQueryTokens);
  assertEquals(gauges?.prefixHits, stats.prefixHitTokens);
  assert(stats.prefixHitTokens > 0);
  assert(gauges?.cacheUsage !== undefined);
});

test("endpoints that fail do not keep others from being read", async () => {
  /** Answers a page, in small pieces, again and again. */
  async function slow(peer: Peer): Promise<void> {
    while (await peer.request() !== "") {
      const answer = text(200, PAGE);
      for (let at = 0; at < answer.length; at += 16) {
        await peer.send(answer.slice(at, at + 16));
      }
    }
  }
  async function endless(peer: Peer): Promise<void> {
    await peer.request();
    await peer.send("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = `10000\r\n${"#\n".repeat(32_768)}\r\n`;
    for (let sent = 0; sent < 200; sent++) await peer.send(chunk);
  }
  async function silent(peer: Peer): Promise<void> {
    await peer.closed();
  }
  async function broken(peer: Peer): Promise<void> {
    await peer.request();
    await peer.send(`HTTP/1.1 200 X\r\nContent-Length: 9999\r\n\r\n${PAGE}`);
    peer.close();
  }
  await using good = new ScriptedServer(slow);
  await using large = new ScriptedServer(endless);
  await using mute = new ScriptedServer(silent);
  await using bad = new ScriptedServer(broken);
  const servers = { good, large, mute, bad };
  const { reports } = await reported(
    Object.entries(servers).map(([id, { address }]) =>
      endpointSpec(id, { address })
    ),
    5,
  );
  assertEquals(new Set(reports.map(([id]) => id)), new Set(["good"]));
  // A connection serves questions that follow one another.
  assert(good.peers.length < reports.length);
});
