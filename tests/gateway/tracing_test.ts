/**
 * Spans reach a collector over OTLP, and engines a context that names them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import { until } from "../admin/program.ts";
import { RawClient } from "./raw_client.ts";
import { post } from "./requests.ts";
import { withScript } from "./scripted_engine.ts";
import { type Collected, CollectorStand } from "./collector_stand.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** The values of a request field that an engine was sent. */
function fieldOf(request: string, name: string): string[] {
  const lines = request.split("\r\n\r\n")[0]?.split("\r\n") ?? [];
  return lines.filter((line) => line.toLowerCase().startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trim());
}

/** Sends one request; resolves to the spans of it, and what engines got. */
async function trace(
  headers: readonly string[],
  { answers = [OK], sample = 1 }: {
    readonly answers?: readonly string[];
    readonly sample?: number;
  } = {},
): Promise<{ spans: readonly Collected[]; requests: readonly string[] }> {
  await using collector = new CollectorStand();
  const requests: string[] = [];
  await withScript(
    async (peer, request) => {
      requests.push(request);
      await peer.send(answers[requests.length - 1] ?? OK);
    },
    async ({ port }) => {
      using client = await RawClient.connect(port);
      await client.send(post("/v1/chat/completions?key=SECRET", "{}", headers));
      await client.reply();
    },
    {
      models: [[], []],
      config: { tracing: { endpoint: `${collector.url}/base`, sample } },
    },
  );
  assert(!collector.text.includes("SECRET"));
  return { spans: collector.spans, requests };
}

test("a request has a span, and each attempt one below it", async () => {
  const headers = [
    `traceparent: 00-${TRACE}-${PARENT}-01`,
    "tracestate: vendor=1,other=2",
    "x-session-id: SECRET",
  ];
  const { requests, spans } = await trace(headers);
  const request = spans.find(({ name }) => name === "request");
  const attempt = spans.find(({ name }) => name === "attempt");
  assert(request !== undefined && attempt !== undefined);
  assertEquals(spans.length, 2);
  assertEquals(spans.map(({ traceId }) => traceId), [TRACE, TRACE]);
  assertEquals(request.parentSpanId, PARENT);
  assertEquals(attempt.parentSpanId, request.spanId);
  assertEquals([request.kind, attempt.kind], [2, 3]);
  assertEquals(request.events.map(({ name }) => name), [
    "sniff",
    "key",
    "rank",
    "admit",
    "attempt",
    "relay",
    "settle",
  ]);
  assertEquals(attempt.events.map(({ name }) => name), ["relay", "settle"]);
  const values = new Map(
    request.attributes.map(({ key, value }) => [key, value]),
  );
  assertEquals(values.get("http.response.status_code"), { intValue: "200" });
  assertEquals(values.get("url.path"), {
    stringValue: "/v1/chat/completions",
  });
  assertMatch(request.startTimeUnixNano, /^\d{19}$/);
  assert(request.startTimeUnixNano <= attempt.startTimeUnixNano);
  assert(attempt.endTimeUnixNano <= request.endTimeUnixNano);
  const [sent = ""] = requests;
  assertEquals(fieldOf(sent, "traceparent"), [
    `00-${TRACE}-${attempt.spanId}-01`,
  ]);
  assertEquals(fieldOf(sent, "tracestate"), ["vendor=1,other=2"]);
});

test("a failed attempt has a span that says so", async () => {
  // Answered too early to be an answer to it: tried again elsewhere.
  const { requests, spans } = await trace([], { answers: ["x\r\n\r\n"] });
  const attempts = spans.filter(({ name }) => name === "attempt");
  const [request] = spans.filter(({ name }) => name === "request");
  assertEquals(attempts.length, requests.length);
  assertEquals(attempts[0]?.status, {
    code: 2,
    message: "upstream_malformed",
  });
  assertEquals(request?.status.code, 2);
  assertEquals(request?.parentSpanId, "");
});

test("the decision of the caller on its trace is kept", async () => {
  const table: [
    headers: string[],
    sample: number,
    spanCount: number,
    traceparent: RegExp | undefined,
  ][] = [
    // Nobody has decided.
    [[], 1, 2, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/],
    [[], 0, 0, undefined],
    // The caller has.
    [[`traceparent: 00-${TRACE}-${PARENT}-01`], 0, 2, /^00-0af7.*-01$/],
    [
      [`traceparent: 00-${TRACE}-${PARENT}-00`],
      1,
      0,
      new RegExp(`^00-${TRACE}-${PARENT}-00$`),
    ],
    // What it sent is no context: the trace begins anew, sampled or not.
    [[`traceparent: 00-${TRACE}`], 1, 2, /^00-(?!0af7)[0-9a-f-]{49}-01$/],
    [[`traceparent: 00-${TRACE}`], 0, 0, /^00-(?!0af7)[0-9a-f-]{49}-00$/],
  ];
  for (const [headers, sample, spanCount, traceparent] of table) {
    const state = "tracestate: a=1";
    const { requests, spans } = await trace([...headers, state], { sample });
    const name = `${headers} ${sample}`;
    assertEquals(spans.length, spanCount, name);
    const [sent = ""] = requests;
    const fields = fieldOf(sent, "traceparent");
    assertEquals(fields.length, traceparent === undefined ? 0 : 1, name);
    if (traceparent !== undefined) assertMatch(fields[0] ?? "", traceparent);
    // A state without a trace of its own goes with it.
    const isKept = headers[0]?.includes(PARENT) || traceparent === undefined;
    assertEquals(fieldOf(sent, "tracestate"), isKept ? ["a=1"] : [], name);
  }
});

test("without a collector the context passes as it came", async () => {
  const came = `00-${TRACE}`;
  let sent = "";
  await withScript(async (peer, request) => {
    sent = request;
    await peer.send(OK);
  }, async ({ port }) => {
    using client = await RawClient.connect(port);
    const headers = [`traceparent: ${came}`, "tracestate: x"];
    await client.send(post("/x", "{}", headers));
    await client.reply();
  });
  assertEquals(fieldOf(sent, "traceparent"), [came]);
  assertEquals(fieldOf(sent, "tracestate"), ["x"]);
});

test("a collector that is not well is told of once", async () => {
  await using collector = new CollectorStand(500);
  await withScript((peer) => peer.send(OK), async ({ events, idle, port }) => {
    using client = await RawClient.connect(port);
    for (const count of [1, 2]) {
      await client.send(post("/x", "{}"));
      await client.reply();
      await idle();
      await until("a batch", () => collector.requestCount >= count);
    }
    const dropped = () =>
      events.filter(({ event }) => event === "spans.dropped");
    await until("a line", () => dropped().length > 0);
    assertEquals(dropped().map(({ fields }) => fields), [
      { count: 2, reason: "status 500" },
    ]);
  }, { config: { tracing: { endpoint: collector.url } } });
});
