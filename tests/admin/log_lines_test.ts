/**
 * The log of the program as a process: whole lines of all threads, at the
 * level that it has at that moment, and spans of its threads.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { CollectorStand } from "../gateway/collector_stand.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { PlainEngine } from "./plain_engine.ts";
import { type Served, serveProgram, until } from "./program.ts";

/** Sends requests over several connections, so that all threads get some. */
async function ask(
  { port }: Served,
  paths: readonly string[],
): Promise<void> {
  await Promise.all(paths.map(async (path) => {
    using client = await RawClient.connect(port);
    await client.send(post(path, '{"model":"m"}'));
    assertEquals((await client.reply()).status, 200);
  }));
}

function pathsOf(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `/${name}/${at}`);
}

/** Sets the level as an operator does. */
async function setLevel({ adminPort }: Served, level: string): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/log/level`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ level }),
  });
  assertEquals(response.status, 200, await response.text());
}

interface Line {
  readonly level: string;
  readonly event: string;
  readonly path?: string;
}

test("each request has one line, whole and at the level of its time", async () => {
  await using engine = new PlainEngine(["m"]);
  await using served = await serveProgram([
    "workers: 2",
    "log: { format: json }",
    `endpoints: [{ id: e0, url: "${engine.url}" }]`,
  ].join("\n"));
  await ask(served, pathsOf("info", 200));
  await setLevel(served, "error");
  await ask(served, pathsOf("error", 20));
  await setLevel(served, "debug");
  await ask(served, pathsOf("debug", 20));
  // What has gathered is written, however soon after it the end comes.
  served.process.signal("SIGTERM");
  const { code, err } = await served.process.ended();
  assertEquals(code, 0, err);
  const lines: Line[] = err.trimEnd().split("\n")
    .map((line) => JSON.parse(line));
  const settled = lines.filter(({ event }) => event === "request.settled");
  const expected = [...pathsOf("info", 200), ...pathsOf("debug", 20)];
  assertEquals(
    settled.map(({ path = "" }) => path).sort(),
    expected.sort(),
  );
  const phases = lines.filter(({ event }) => event === "request.phase");
  assertEquals(phases.length, 20 * 8, "eight phases each");
  assert(phases.every(({ level }) => level === "debug"));
});

test("threads send the spans of their requests", async () => {
  await using collector = new CollectorStand();
  await using engine = new PlainEngine(["m"]);
  await using served = await serveProgram([
    "workers: 2",
    `tracing: { endpoint: "${collector.url}" }`,
    `endpoints: [{ id: e0, url: "${engine.url}" }]`,
  ].join("\n"));
  await ask(served, pathsOf("a", 30));
  await until("spans", () => collector.spans.length > 0);
  await ask(served, pathsOf("b", 30));
  served.process.signal("SIGTERM");
  const { code, err } = await served.process.ended();
  assertEquals(code, 0, err);
  const requests = collector.spans.filter(({ name }) => name === "request");
  assertEquals(requests.length, 60);
  assertEquals(new Set(requests.map(({ traceId }) => traceId)).size, 60);
  assertEquals(collector.spans.length, 120, "one attempt each");
});
