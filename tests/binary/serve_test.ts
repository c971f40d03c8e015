/**
 * The executable in front of engines: it serves, and it stops.
 *
 * A worker thread cannot be killed from outside its process, as a signal that
 * ends one thread ends them all; that a dead one is replaced is tested where
 * a worker can be told to die, in `tests/admin/worker_loss_test.ts`.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { type Engine, startEngine } from "../../bench/engine/engine.ts";
import { test } from "../leakproof.ts";
import { type Running, start } from "./executable.ts";
import { GATED_EVENTS, GatedEngine } from "./gated_engine.ts";

/** Milliseconds until one exchange with the gateway must be over. */
const EXCHANGE_MS = 15_000;

/** Looks at readiness until it is there; some seconds at most. */
const LOOKS_MAX = 200;
const LOOK_PAUSE_MS = 50;

/** A serving process and its addresses. */
interface Served {
  readonly process: Running;
  readonly url: string;
  readonly admin: string;
}

/** Starts `tryst serve` on free loopback ports; resolves once it is ready. */
async function serve(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Served & AsyncDisposable> {
  const process = await start(["serve", ...args], {
    env: { TRYST_LISTEN: "127.0.0.1:0", TRYST_ADMIN: "127.0.0.1:0", ...env },
  });
  try {
    const [, url = ""] = await process.until("out", /listens on (\S+)/);
    const [, admin = ""] = await process.until("out", /Admin on (\S+)/);
    await untilReady(admin);
    return {
      process,
      url,
      admin,
      [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
    };
  } catch (error) {
    await process[Symbol.asyncDispose]();
    throw error;
  }
}

async function untilReady(admin: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const { eligible, total } = JSON.parse((await get(`${admin}/readyz`)).text);
    if (eligible === total) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
  }
  throw new Error("Cannot wait longer for the endpoints to be ready");
}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A request on a connection of its own, so that any worker may take it. */
async function get(url: string, init: RequestInit = {}): Promise<Got> {
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const response = await fetch(url, {
    ...init,
    client,
    signal: AbortSignal.timeout(EXCHANGE_MS),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

function turn(session: string, place: "header" | "body"): RequestInit {
  const messages = [{ role: "user", content: `I am ${session}` }];
  const body = { model: "sim", messages, "max_tokens": 2 };
  return {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(place === "header" ? { "x-session-id": session } : {}),
    },
    body: JSON.stringify(
      place === "header" ? body : { ...body, session_id: session },
    ),
  };
}

/** The sum of a metric over its series. */
async function metric(admin: string, name: string): Promise<number> {
  const { text } = await get(`${admin}/metrics`);
  const series = new RegExp(`^${name}(?:{.*})? (\\d+)$`, "gm");
  const values = [...text.matchAll(series)].map(([, value]) => Number(value));
  assert(values.length > 0, `the page has no ${name}`);
  return values.reduce((sum, value) => sum + value);
}

/** Runs `body` with quick engines on TCP, and one on a unix socket. */
async function withEngines(
  body: (engines: readonly Engine[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const engines = await Promise.all([
    startEngine({ id: "a", speed: 1_000 }),
    startEngine({ id: "b", speed: 1_000 }),
    startEngine({ id: "c", speed: 1_000, path: `${folder}/c.sock` }),
  ]);
  try {
    await body(engines);
  } finally {
    for (const engine of engines) await engine.kill();
    await Deno.remove(folder, { recursive: true });
  }
}

test("binary: two workers with a file keep sessions together", async () => {
  await withEngines(async (engines) => {
    const config = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(
      config,
      [
        "workers: 2",
        "session: { keys: [default, query:s], idle_ttl: 10m }",
        "endpoints:",
        ...engines.map(({ id, url }) => `  - { id: ${id}, url: "${url}" }`),
      ].join("\n"),
    );
    try {
      await using served = await serve(["--config", config]);
      await served.process.until("out", /with 2 workers\n/);
      const homes = new Set<string | null>();
      for (let session = 0; session < 12; session++) {
        const name = `session-${session}`;
        const url = `${served.url}/v1/chat/completions`;
        const place = session % 2 === 0 ? "header" : "body";
        const first = await get(url, turn(name, place));
        assertEquals(first.status, 200, first.text);
        assertEquals(first.headers.get("x-tryst-affinity"), "new");
        const home = first.headers.get("x-tryst-endpoint");
        homes.add(home);
        // The other place, then a query: the value alone is the session.
        const later = [
          await get(url, turn(name, place === "body" ? "header" : "body")),
          await get(`${served.url}/echo?s=${name}`),
        ];
        for (const { headers } of later) {
          assertEquals(headers.get("x-tryst-affinity"), "hit", name);
          assertEquals(headers.get("x-tryst-endpoint"), home, name);
        }
      }
      assertEquals([...homes].sort(), ["a", "b", "c"]);
      const { admin } = served;
      assertEquals(await metric(admin, "tryst_requests_total"), 36);
      assertEquals(await metric(admin, "tryst_worker_deaths_total"), 0);
      assertEquals((await get(`${admin}/healthz`)).status, 200);
    } finally {
      await Deno.remove(config);
    }
  });
});

test("binary: variables alone are a set-up, and an event is not held back", async () => {
  await using engine = new GatedEngine();
  await using served = await serve([], {
    TRYST_ENDPOINT: engine.url,
    TRYST_SESSION_KEY: "header:x-own",
    TRYST_WORKERS: "1",
  });
  await served.process.until("out", /with 1 worker\n/);
  using stream = await openStream(served.url);
  assertEquals(stream.headers.get("x-tryst-key-source"), "header:x-own");
  assertEquals(await stream.rest(() => engine.open()), GATED_EVENTS.last);
});

test("binary: the first SIGTERM lets an open stream finish", async () => {
  await using engine = new GatedEngine();
  await using served = await serve(["--endpoint", engine.url]);
  using stream = await openStream(served.url);
  served.process.signal("SIGTERM");
  await served.process.until("err", /gateway\.stopping/);
  assertEquals(await stream.rest(() => engine.open()), GATED_EVENTS.last);
  assertEquals((await served.process.ended()).code, 0);
});

test("binary: the second signal cuts an open stream", async () => {
  await using engine = new GatedEngine();
  await using served = await serve(["--endpoint", engine.url]);
  using stream = await openStream(served.url);
  served.process.signal("SIGINT");
  await served.process.until("err", /gateway\.stopping/);
  served.process.signal("SIGTERM");
  // The wait is far shorter than the 30 s that one signal alone would give.
  const { code, err } = await served.process.ended();
  assertEquals(code, 1);
  assertStringIncludes(err, "gateway.stopped requests_cut=1");
  assertEquals(await stream.rest(() => {}), undefined);
});

test("binary: an address that is taken ends it with 1", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = `127.0.0.1:${taken.addr.port}`;
  const free = "127.0.0.1:0";
  for (const [listen, admin] of [[address, free], [free, address]] as const) {
    await using process = await start([
      ...["serve", "--listen", listen, "--admin", admin],
      ...["--endpoint", "http://127.0.0.1:9"],
    ]);
    const { code, err } = await process.ended();
    assertEquals(code, 1, err);
    assertStringIncludes(err, "Cannot serve: ");
    assertStringIncludes(err, "ddress already in use");
  }
});

test("binary: without an engine it lives, is not ready and says so", async () => {
  await using process = await start([
    ...["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ...["--endpoint", "http://127.0.0.1:9"],
  ]);
  const [, url] = await process.until("out", /listens on (\S+)/);
  const [, admin] = await process.until("out", /Admin on (\S+)/);
  assertEquals((await get(`${admin}/healthz`)).status, 200);
  assertEquals((await get(`${admin}/readyz`)).status, 503);
  const answer = await get(`${url}/v1/messages`, { method: "POST" });
  assertEquals(answer.status, 503);
  assertEquals(answer.headers.get("x-tryst-error"), "no_eligible_endpoint");
  assertEquals(JSON.parse(answer.text).error.type, "overloaded_error");
  assertNotEquals(answer.headers.get("x-request-id"), null);
});

/** A stream of which the first event has come. */
interface OpenStream extends Disposable {
  readonly headers: Headers;
  /**
   * What comes after `act`, to the end; `undefined` when the stream breaks.
   */
  rest(act: () => void): Promise<string | undefined>;
}

/** Asks for a stream; the engine holds all but its first event back. */
async function openStream(url: string): Promise<OpenStream> {
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), EXCHANGE_MS);
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-own": "s" },
    body: `{"model":"sim","stream":true}`,
    client,
    signal: abort.signal,
  });
  assert(response.body !== null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.length < GATED_EVENTS.first.length) {
    const { value, done } = await reader.read();
    assert(!done, `the stream ended after ${JSON.stringify(text)}`);
    text += value;
  }
  assertEquals(text, GATED_EVENTS.first);
  return {
    headers: response.headers,
    async rest(act) {
      act();
      let rest = "";
      try {
        for (;;) {
          const { value, done } = await reader.read();
          if (done) return rest;
          rest += value;
        }
      } catch {
        return undefined;
      }
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      client.close();
    },
  };
}
