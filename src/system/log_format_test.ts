/**
 * A line is one line in both formats, and cannot be forged by what it carries.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import type { AccessRecord } from "../gateway/access_log.ts";
import { accessLine, eventLine, type LineStyle } from "./log_format.ts";

const TEXT: LineStyle = { format: "text", hasPriority: false };
const JSON_LINES: LineStyle = { format: "json", hasPriority: false };

const RECORD: AccessRecord = {
  atMs: 0,
  isFailure: false,
  requestId: "req-1",
  client: "192.0.2.1",
  method: "POST",
  path: "/v1/chat/completions",
  status: 200,
  error: undefined,
  endpoint: "gpu0",
  affinity: "hit",
  keySource: "header:x-session-id",
  session: "0badcafe",
  attempts: 1,
  queueMs: 0,
  firstByteMs: 12,
  totalMs: 345,
  bytesIn: 1024,
  bytesOut: 20480,
  model: "m 1",
  tenant: "red",
  traceId: undefined,
};

test("eventLine() writes one line an event, whatever the values hold", () => {
  const events = [
    { atMs: 0, level: "info", event: "endpoint.ready", fields: { id: "gpu0" } },
    {
      atMs: 0,
      level: "error",
      event: "x",
      fields: { value: "a\n1970 INFO forged", none: undefined, n: 2 },
    },
  ] as const;
  assertEquals(events.map((event) => eventLine(event, TEXT)), [
    "1970-01-01T00:00:00.000Z INFO  endpoint.ready id=gpu0\n",
    "1970-01-01T00:00:00.000Z ERROR x" +
    ' value="a\\n1970 INFO forged" n=2\n',
  ]);
  assertEquals(events.map((event) => eventLine(event, JSON_LINES)), [
    '{"time":"1970-01-01T00:00:00.000Z","level":"info",' +
    '"event":"endpoint.ready","id":"gpu0"}\n',
    '{"time":"1970-01-01T00:00:00.000Z","level":"error","event":"x",' +
    '"value":"a\\n1970 INFO forged","n":2}\n',
  ]);
});

test("eventLine() lets no field replace what every line has", () => {
  const fields = { time: "t", level: "debug", event: "forged" };
  const event = { atMs: 0, level: "error", event: "e", fields } as const;
  const { level, event: name } = JSON.parse(eventLine(event, JSON_LINES));
  assertEquals([level, name], ["error", "e"]);
});

test("accessLine() has columns for people and members for programs", () => {
  assertEquals(
    accessLine(RECORD, TEXT),
    "1970-01-01T00:00:00.000Z INFO  request.settled 200     345ms POST" +
      " /v1/chat/completions endpoint=gpu0 affinity=hit" +
      " key=header:x-session-id session=0badcafe first=12ms in=1024" +
      ' out=20480 model="m 1" tenant=red client=192.0.2.1 id=req-1\n',
  );
  assertEquals(JSON.parse(accessLine(RECORD, JSON_LINES)), {
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    event: "request.settled",
    "request_id": "req-1",
    client: "192.0.2.1",
    method: "POST",
    path: "/v1/chat/completions",
    status: 200,
    endpoint: "gpu0",
    affinity: "hit",
    "key_source": "header:x-session-id",
    session: "0badcafe",
    attempts: 1,
    "queue_ms": 0,
    "first_byte_ms": 12,
    "total_ms": 345,
    "bytes_in": 1024,
    "bytes_out": 20480,
    model: "m 1",
    tenant: "red",
  });
  const failed = {
    ...RECORD,
    isFailure: true,
    status: undefined,
    error: "queue_full",
    attempts: 2,
    queueMs: 7,
    traceId: "ab",
  };
  assertEquals(
    accessLine(failed, { format: "text", hasPriority: true }).slice(0, 68),
    "<4>1970-01-01T00:00:00.000Z WARN  request.settled -       345ms POST",
  );
});

test("accessLine() is one line for any text in it", () => {
  const text = fc.string({ unit: "binary", maxLength: 40 });
  const texts = fc.tuple(text, text, text, text);
  fc.assert(fc.property(texts, ([method, path, model, requestId]) => {
    const record = { ...RECORD, method, path, model, requestId };
    for (const style of [TEXT, JSON_LINES]) {
      const line = accessLine(record, style);
      const controls = [...line].filter((char) => char < " ");
      assertEquals(controls, ["\n"]);
      assertEquals(line.at(-1), "\n");
    }
  }));
});
