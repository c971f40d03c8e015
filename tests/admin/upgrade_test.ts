/**
 * A gateway that is replaced by another process on the same port: nobody's
 * request fails, and sessions meet their endpoint.
 *
 * How many fail of those that come on a connection of their own in the moment
 * in which the first one closes its socket, `bench/restart/upgrade.ts` measures.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { PlainEngine } from "./plain_engine.ts";
import { type Served, serveProgram, startProgram, until } from "./program.ts";

const SESSIONS = Array.from({ length: 24 }, (_, n) => `session-${n}`);

/** Longer than any test: what ends within it was ended. */
const LONG_STOP = "stop: { ready_grace: 10m, deadline: 10m }";

/** A configuration of these engines as `e0`, `e1`, ... */
function configOf(
  directory: string,
  engines: readonly PlainEngine[],
  more = "",
): string {
  return [
    "workers: 2",
    `state: { directory: "${directory}", interval: 1h }`,
    more,
    "endpoints:",
    ...engines.map(({ url }, n) => `  - { id: e${n}, url: "${url}" }`),
  ].join("\n");
}

/** Runs `body` with a directory for the state and three engines. */
async function withSite(
  body: (directory: string, engines: PlainEngine[]) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const engines = [1, 2, 3].map(() => stack.use(new PlainEngine(["m"])));
  await body(`${directory}/state`, engines);
}

/** Affinity outcome, endpoint and whether the connection ends. */
async function ask(client: RawClient, session: string): Promise<string> {
  await client.send(
    post("/v1/chat/completions", '{"model":"m"}', [`x-session-id: ${session}`]),
  );
  const { headers, status } = await client.reply();
  assertEquals(status, 200, session);
  const end = headers.get("connection") === "close" ? " close" : "";
  return `${headers.get("x-tryst-affinity")} ${
    headers.get("x-tryst-endpoint")
  }${end}`;
}

async function callAll(port: number): Promise<string[]> {
  const outcomes: string[] = [];
  for (const session of SESSIONS) {
    using client = await RawClient.connect(port);
    outcomes.push(await ask(client, session));
  }
  return outcomes;
}

async function snapshot({ adminPort }: Served): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/snapshot`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  assertEquals(response.status, 200, await response.text());
}

/** Starts a gateway on a port that may be another's; resolves at once. */
async function startOn(port: number, config: string) {
  const file = await Deno.makeTempFile({ suffix: ".yaml" });
  await Deno.writeTextFile(file, config);
  const { process } = startProgram([
    ...["serve", "--config", file, "--admin", "127.0.0.1:0"],
    ...["--listen", `127.0.0.1:${port}`],
  ]);
  return {
    process,
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await Deno.remove(file);
    },
  };
}

test("upgrade: connections move to a second process on the port, and sessions stay", async () => {
  await withSite(async (directory, engines) => {
    // Hashing over three endpoints would not place all sessions on the first.
    const [only] = engines;
    assert(only !== undefined);
    await using first = await serveProgram(
      configOf(directory, [only], LONG_STOP),
    );
    assertEquals(await callAll(first.port), SESSIONS.map(() => "new e0"));
    await using stack = new AsyncDisposableStack();
    const kept: RawClient[] = [];
    for (const session of SESSIONS) {
      const client = stack.use(await RawClient.connect(first.port));
      assertEquals(await ask(client, session), "hit e0");
      kept.push(client);
    }
    await snapshot(first);
    await using second = await startOn(
      first.port,
      configOf(directory, engines),
    );
    await second.process.until("out", /listens on/);
    first.process.signal("SIGTERM");
    await first.process.until("err", /gateway\.stopping/);
    await until("answers to say so", async () => {
      using client = await RawClient.connect(first.port);
      return (await ask(client, "another")).endsWith(" close");
    });
    for (const [n, client] of kept.entries()) {
      assertEquals(await ask(client, SESSIONS[n] ?? ""), "hit e0 close");
    }
    // Either of the two may get these.
    for (const outcome of await callAll(first.port)) {
      assertEquals(outcome.replace(" close", ""), "hit e0");
    }
    // Ends the grace: nothing is open, so nothing is cut.
    first.process.signal("SIGTERM");
    const { code, err } = await first.process.ended();
    assertEquals(code, 0, err);
    assertEquals(await callAll(first.port), SESSIONS.map(() => "hit e0"));
    second.process.signal("SIGTERM");
    const ended = await second.process.ended();
    assertEquals(ended.code, 0, ended.err);
    assert(/sessions\.restored .*sessions=24 /.test(ended.err), ended.err);
  });
});

test("upgrade: the one that ends leaves the file of the other alone", async () => {
  await withSite(async (directory, engines) => {
    const config = configOf(directory, engines);
    await using first = await serveProgram(config);
    await callAll(first.port);
    await snapshot(first);
    await using second = await serveProgram(config);
    await callAll(second.port);
    await snapshot(second);
    const file = `${directory}/sessions.snapshot`;
    const newer = await Deno.readFile(file);
    // It has something to save as well.
    await callAll(first.port);
    first.process.signal("SIGTERM");
    const { code, err } = await first.process.ended();
    assertEquals(code, 0, err);
    assertEquals(err.match(/sessions\.left file=/g)?.length, 1, err);
    assertEquals(await Deno.readFile(file), newer);
    await callAll(second.port);
    second.process.signal("SIGTERM");
    assertEquals((await second.process.ended()).code, 0);
    assert((await Deno.readFile(file)).some((byte, at) => byte !== newer[at]));
  });
});

test("upgrade: the one that took over saves what came after the other ended", async () => {
  await withSite(async (directory, engines) => {
    const [only] = engines;
    assert(only !== undefined);
    const before = configOf(directory, [only]);
    const after = configOf(directory, engines);
    await using first = await serveProgram(before);
    assertEquals(await callAll(first.port), SESSIONS.map(() => "new e0"));
    await using second = await serveProgram(before);
    first.process.signal("SIGTERM");
    assertEquals((await first.process.ended()).code, 0);
    await callAll(second.port);
    second.process.signal("SIGTERM");
    const { code, err } = await second.process.ended();
    assertEquals(code, 0, err);
    assert(!err.includes("sessions.left"), err);
    // Hashing over three endpoints would not place all sessions on the first.
    await using third = await serveProgram(after);
    assertEquals(await callAll(third.port), SESSIONS.map(() => "hit e0"));
  });
});

test("upgrade: a gateway knows its endpoints before it listens", async () => {
  const end = new AbortController();
  // Slower than the gateway starts, and sooner than it gives up waiting.
  const slowMs = 800;
  const engine = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    signal: end.signal,
    onListen: () => {},
  }, async (request) => {
    await request.text();
    if (new URL(request.url).pathname === "/health") {
      await new Promise((resolve) => setTimeout(resolve, slowMs));
    }
    return Response.json({ data: [{ id: "m" }] });
  });
  try {
    const url = `http://127.0.0.1:${engine.addr.port}`;
    await using served = await startOn(
      0,
      `workers: 1\nendpoints: [{ id: e0, url: "${url}" }]`,
    );
    const [, port] = await served.process.until(
      "out",
      /listens on \S+:(\d+)/,
    );
    assertEquals(await callAll(Number(port)), SESSIONS.map(() => "new e0"));
    served.process.signal("SIGTERM");
    assertEquals((await served.process.ended()).code, 0);
  } finally {
    end.abort();
    await engine.finished;
  }
});
