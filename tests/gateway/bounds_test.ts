/**
 * Nothing that clients send makes the gateway grow without end.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { hashBytes } from "../../src/core/hash.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { test } from "../leakproof.ts";
import { RawClient } from "./raw_client.ts";
import { withWorld } from "./world.ts";

/** Takes and gives back a session for each of so many new keys. */
function visit(table: SessionTable, count: number, from: number): void {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  for (let n = from; n < from + count; n++) {
    view.setFloat64(0, n);
    const record = table.pin(hashBytes(bytes), n);
    if (record >= 0) table.unpin(record, n);
  }
}

test("a million sessions take no more memory than the first (G1 PS #687, G3)", () => {
  const table = SessionTable.create({
    capacity: 8_192,
    idleTtlMs: 1_800_000,
    epochMs: 0,
  });
  const { byteLength } = table.buffer;
  visit(table, 1_000_000, 0);
  assertEquals(table.buffer.byteLength, byteLength);
  const { capacity, evictions, occupied } = table.gauges();
  assert(occupied <= capacity, `${occupied} sessions in ${capacity} records`);
  assert(evictions >= 1_000_000 - capacity, `${evictions} evictions`);
});

test("a table that was filled and forgotten ten times is as good as new (G2 dynamo #10774)", () => {
  const table = SessionTable.create({
    capacity: 1_024,
    idleTtlMs: 1_800_000,
    epochMs: 0,
  });
  for (let round = 0; round < 10; round++) {
    visit(table, 2_048, round * 2_048);
    table.clear();
    assertEquals(table.gauges().occupied, 0, `round ${round}`);
  }
});

test("models and paths that clients make up never become labels (G4 llm-d-router #1625)", async () => {
  await withWorld({ engines: [{}] }, async ({ url, gateway }) => {
    const names = async () => {
      const page = await gateway.control.metrics.metrics();
      return page.split("\n").map((line) => line.replace(/ \S+$/, "")).join();
    };
    const before = await names();
    for (let n = 0; n < 200; n++) {
      const response = await fetch(`${url}/made-up/${n}`, {
        method: "POST",
        headers: { "x-session-id": `made-up-${n}` },
        body: JSON.stringify({ model: `made-up-${n}` }),
      });
      await response.body?.cancel();
    }
    const after = await names();
    assertEquals(after, before);
    assert(!after.includes("made-up"));
  });
});

test("a client that stops sending holds no place and is let go (D13 autobrr #946)", async () => {
  const config = { timeouts: { body: "200ms" } };
  await withWorld({ engines: [{}], config }, async ({ port, gateway }) => {
    using client = await RawClient.connect(port);
    await client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: gateway\r\n" +
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    assertEquals(gateway.control.endpoints()[0]?.inFlight, 0);
    const text = await client.until(/body_too_slow/);
    assertMatch(text, /^HTTP\/1\.1 408 /);
  });
});

test("an engine that vanishes is seen in readiness and said with a reason (PS #656, G13 model-launch #130)", async () => {
  const config = { health: { interval: "50ms", unhealthy_threshold: 2 } };
  await withWorld({ engines: [{}, {}], config }, async (world) => {
    const { engines, events, gateway } = world;
    await engines[1]?.kill();
    for (let waits = 0; waits < 400; waits++) {
      if (gateway.control.readiness().eligible === 1) break;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assertEquals(gateway.control.readiness(), { eligible: 1, total: 2 });
    const ejected = events.find(({ event }) => event === "endpoint.ejected");
    assertEquals(ejected?.fields.id, "e1");
    assertMatch(String(ejected?.fields.reason), /./);
  });
});

test("an engine's error that is no JSON passes as it is (AB #858, #1111)", async () => {
  await withWorld({ engines: [{}] }, async ({ url, engines }) => {
    engines[0]?.faults.set(
      { status: 503, errorText: "upstream connect error" },
      { targetPrefix: "/v1/chat" },
    );
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      body: "{}",
    });
    assertEquals(response.status, 503);
    assertEquals(await response.text(), "upstream connect error");
    assertEquals(response.headers.get("x-tryst-error"), null);
  });
});
