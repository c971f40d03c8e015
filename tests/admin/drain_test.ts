/**
 * Endpoints drained and restored from the command line, in front of simulated
 * engines, each program in a process of its own.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { type Engine, startEngine } from "../../bench/engine/engine.ts";
import { GatedEngine } from "../binary/gated_engine.ts";
import { RawClient } from "../gateway/raw_client.ts";
import type { Reply } from "../gateway/reply.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { type Served, serveProgram, startProgram, until } from "./program.ts";

/** A gateway in front of two engines, `a/0` and `b`. */
interface World {
  readonly served: Served;
  readonly a: GatedEngine;
  readonly b: Engine;
  /** Runs a command that asks this gateway. */
  tryst(...args: string[]): Promise<{ code: number; out: string; err: string }>;
}

async function withWorld(body: (world: World) => Promise<void>) {
  await using a = new GatedEngine();
  await using b = await startEngine({ id: "b", speed: 1_000 });
  await using served = await serveProgram([
    "workers: 2",
    "health: { interval: 50ms }",
    "endpoints:",
    `  - { id: a/0, url: ${a.url}, max_in_flight: 64 }`,
    `  - { id: b, url: ${b.url} }`,
  ].join("\n"));
  const admin = `127.0.0.1:${served.adminPort}`;
  await body({
    served,
    a,
    b,
    tryst: (...args) => tryst([...args, "--admin", admin]),
  });
}

async function tryst(args: readonly string[]) {
  const { process } = startProgram(args);
  await using running = process;
  return await running.ended();
}

function turn(session: string, isStream = false): string {
  const body = { model: "sim", stream: isStream, "max_tokens": 2 };
  return post("/v1/chat/completions", JSON.stringify(body), [
    `x-session-id: ${session}`,
  ]);
}

async function ask(port: number, session: string): Promise<Reply> {
  using client = await RawClient.connect(port);
  await client.send(turn(session));
  return await client.reply();
}

/** Where the turns of new sessions go, and how many to each. */
async function homes(port: number, name: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let index = 0; index < 12; index++) {
    const { headers } = await ask(port, `${name}-${index}`);
    const home = headers.get("x-tryst-affinity") === "new"
      ? String(headers.get("x-tryst-endpoint"))
      : "not new";
    counts.set(home, (counts.get(home) ?? 0) + 1);
  }
  return counts;
}

/** A session that is bound to engine `a`. */
async function sessionOfA(port: number): Promise<string> {
  for (let index = 0; index < 64; index++) {
    const { headers } = await ask(port, `bound-${index}`);
    if (headers.get("x-tryst-endpoint") !== "b") return `bound-${index}`;
  }
  throw new Error("Cannot find a session of engine a");
}

test("drain: no new sessions, running requests finish (PS #601)", async () => {
  await withWorld(async ({ a, served, tryst }) => {
    const { port } = served;
    const session = await sessionOfA(port);
    using stream = await RawClient.connect(port);
    await stream.send(turn(session, true));
    await stream.until(/data: /);

    const drained = await tryst("drain", "a/0");
    assertEquals(drained, {
      code: 0,
      out: 'Endpoint "a/0" drains: 1 request in flight\n',
      err: "",
    });
    const late = await tryst("drain", "a/0", "--wait", "1ms");
    assertEquals([late.code, late.out], [1, ""]);
    assertMatch(late.err, /within 1ms: 1 request in flight\n$/);

    const moved = await ask(port, session);
    assertEquals(moved.headers.get("x-tryst-affinity"), "moved");
    assertEquals(await homes(port, "during"), new Map([["b", 12]]));
    assertEquals(JSON.parse((await served.admin("/readyz")).body).eligible, 1);

    // The command waits for the stream, and the stream is whole.
    const waited = tryst("drain", "a/0", "--wait", "1m");
    a.open();
    assert((await stream.reply()).isWhole);
    assertEquals(await waited, {
      code: 0,
      out: 'Endpoint "a/0" is drained\n',
      err: "",
    });
    assertEquals((await tryst("restore", "a/0")).code, 0);
    await until("both to be ready", async () => {
      const { body } = await served.admin("/readyz");
      return JSON.parse(body).eligible === 2;
    });
    assertEquals((await homes(port, "after")).size, 2);
    // What has moved stays where its cache is now.
    const later = await ask(port, session);
    assertEquals(later.headers.get("x-tryst-affinity"), "hit");
    assertEquals(later.headers.get("x-tryst-endpoint"), "b");
  });
});

test("drain: probes do not bring an endpoint back, and all drained is not ready", async () => {
  await withWorld(async ({ b, served, tryst }) => {
    for (const id of ["a/0", "b"]) {
      assertEquals((await tryst("drain", id)).code, 0);
    }
    const probes = () =>
      b.requests.filter(({ target }) => target === "/health").length;
    const before = probes();
    await until("two probes", () => probes() >= before + 2);
    const readiness = await served.admin("/readyz");
    assertEquals(readiness.status, 503);
    assertEquals(
      JSON.parse(readiness.body).reason,
      "0 of 2 endpoints are eligible",
    );
    const answer = await ask(served.port, "s");
    assertEquals(answer.status, 503);
    assertEquals(answer.headers.get("x-tryst-error"), "no_eligible_endpoint");
  });
});

test("endpoints: a table for people and JSON for programs", async () => {
  await withWorld(async ({ served, tryst }) => {
    await ask(served.port, "s");
    await tryst("drain", "b");
    const table = await tryst("endpoints");
    assertEquals([table.code, table.err], [0, ""]);
    const [head, ...rows] = table.out.trimEnd().split("\n");
    assertMatch(head ?? "", /^ENDPOINT +STATE +WEIGHT +IN FLIGHT +LIMIT +SESS/);
    assertEquals(rows.length, 2);
    assertMatch(rows[0] ?? "", /^a\/0 +ready +1 +0 +64 /);
    assertMatch(rows[1] ?? "", /^b +draining +1 +0 +8192 .* 1$/);
    const { code, out } = await tryst("endpoints", "--json");
    assertEquals(code, 0);
    const [a, b] = JSON.parse(out).endpoints;
    assertEquals([a.id, a.state, a.limit, a.models], ["a/0", "ready", 64, 1]);
    assertEquals([b.id, b.state, b.limit], ["b", "draining", 8192]);
  });
});

test("drain: what cannot be done is told, with its exit code", async () => {
  await withWorld(async ({ b, tryst: ours }) => {
    const rows: readonly [args: string[], code: number, err: RegExp][] = [
      [
        ["drain", "c"],
        2,
        /^Cannot drain endpoint "c": known are "a\/0", "b"\n/,
      ],
      [["restore", "c"], 2, /^Cannot restore endpoint "c": known are /],
      [["drain"], 2, /^Cannot go on without ENDPOINT: /],
      [["drain", "b", "--wait", "5"], 2, /^Cannot use "--wait" as it must be/],
      [["drain", "b", "c"], 2, /^Cannot use argument "c"/],
    ];
    for (const [args, code, pattern] of rows) {
      const ended = await ours(...args);
      assertEquals([ended.code, ended.out], [code, ""], args.join(" "));
      assertMatch(ended.err, pattern);
    }
    const nobody = await tryst(["drain", "b", "--admin", "127.0.0.1:1"]);
    assertEquals(nobody.code, 1);
    assertMatch(nobody.err, /^Cannot reach a gateway at its admin address 127/);
    const engine = `127.0.0.1:${b.port}`;
    for (const command of [["drain", "b"], ["endpoints"]]) {
      const other = await tryst([...command, "--admin", engine]);
      assertEquals(other.code, 1, other.err);
    }
    const bad = await tryst(["endpoints", "--admin", "here"]);
    assertEquals(bad.code, 2);
    assertMatch(bad.err, /^Cannot use "--admin" as it must be HOST:PORT/);
  });
});
