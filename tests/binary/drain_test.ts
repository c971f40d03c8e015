/**
 * The executable asks itself: endpoints drained and restored, and what cannot
 * finish counted at the end.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { RawClient } from "../gateway/raw_client.ts";
import { bare, post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { run, type Running, start } from "./executable.ts";
import { GatedEngine } from "./gated_engine.ts";

/** Starts a gateway of two workers; resolves to its addresses. */
async function serve(
  process: Running,
): Promise<{ readonly port: number; readonly admin: string }> {
  const [, port] = await process.until("out", /listens on \S+:(\d+)/);
  const [, admin = ""] = await process.until("out", /Admin on http:\/\/(\S+)/);
  await process.until("err", /endpoint\.ready/);
  return { port: Number(port), admin };
}

async function startGateway(engine: GatedEngine, yaml: string) {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(
    file,
    `${yaml}\nworkers: 2\nendpoints: [{ id: e/0, url: ${engine.url} }]\n`,
  );
  return {
    process: await start([
      ...["serve", "--config", file],
      ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ]),
    [Symbol.asyncDispose]: () => Deno.remove(file),
  };
}

test("binary: drain waits for a stream, restore brings the endpoint back (PS #601)", async () => {
  await using engine = new GatedEngine();
  await using file = await startGateway(engine, "");
  await using process = file.process;
  const { admin, port } = await serve(process);
  const env = { TRYST_ADMIN: admin };
  using stream = await RawClient.connect(port);
  await stream.send(post("/v1/chat/completions", '{"stream":true}'));
  await stream.until(/"n":1/);
  const drained = await run(["drain", "e/0"], { env });
  assertEquals(drained.code, 0, drained.err);
  assertEquals(drained.out, 'Endpoint "e/0" drains: 1 request in flight\n');
  const table = await run(["endpoints"], { env });
  assertStringIncludes(table.out, "\ne/0       draining  1 ");
  const waiting = run(["drain", "e/0", "--wait", "1m"], { env });
  engine.open();
  assertEquals((await stream.reply()).isWhole, true);
  assertEquals((await waiting).out, 'Endpoint "e/0" is drained\n');
  const restored = await run(["restore", "e/0"], { env });
  assertEquals(restored.out, 'Endpoint "e/0" is ready\n');
  process.signal("SIGTERM");
  assertEquals((await process.ended()).code, 0);
  const nobody = await run(["drain", "e/0"], { env });
  assertEquals([nobody.code, nobody.out], [1, ""]);
});

test("binary: a stalled stream is cut at the deadline, idle ones keep nothing (F16, AB #2283)", async () => {
  await using engine = new GatedEngine();
  await using file = await startGateway(engine, "stop: { deadline: 200ms }");
  await using process = file.process;
  const { port } = await serve(process);
  using idle = await RawClient.connect(port);
  await idle.send(bare("GET", "/v1/models"));
  await idle.reply();
  using stream = await RawClient.connect(port);
  await stream.send(post("/v1/chat/completions", '{"stream":true}'));
  await stream.until(/"n":1/);
  process.signal("SIGTERM");
  const { code, err } = await process.ended();
  assertEquals(code, 1);
  assertStringIncludes(err, "gateway.stopped requests_cut=1\n");
  assertEquals((await stream.reply()).isWhole, false);
  assertEquals(await idle.toEnd(), "");
});
