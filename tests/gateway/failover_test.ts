/**
 * The replay rule at real sockets: engines count what reaches them.
 *
 * Every row of the table in `src/core/placement/retry.ts` is here by what went wrong,
 * and the count of requests says whether anything was sent twice.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import type { Engine } from "../../bench/engine/engine.ts";
import { test } from "../leakproof.ts";
import { withWorld, type World } from "./world.ts";

/** An answer, and how many requests each engine was sent for it. */
interface Outcome {
  readonly status: number;
  readonly endpoint: string | null;
  readonly attempts: string | null;
  readonly error: string | null;
  readonly body: string;
  /** Requests to `/echo` at the session's engine and at the others. */
  readonly sent: readonly [bound: number, others: number];
}

const TWO = [{}, {}];
const SESSION = { "x-session-id": "s-1" };

/** Binds the session and returns the engine it is bound to. */
async function bind({ url, engines }: World): Promise<Engine> {
  const response = await fetch(`${url}/health`, { headers: SESSION });
  await response.body?.cancel();
  const id = response.headers.get("x-tryst-endpoint");
  const bound = engines.find((engine) => engine.id === id);
  if (bound === undefined) throw new Error(`Cannot find engine "${id}"`);
  return bound;
}

/**
 * Ends an engine as a killed process ends, and lets the gateway notice that
 * the idle connections are closed: a request that crosses the closing on the
 * wire may have been read, and is not repeated.
 */
async function kill(engine: Engine): Promise<void> {
  await engine.kill();
  await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Sends one request of the session and counts who got it. */
async function send(
  { url, engines }: World,
  bound: Engine,
  init: RequestInit,
): Promise<Outcome> {
  const response = await fetch(`${url}/echo`, { headers: SESSION, ...init });
  const body = await response.text();
  const count = (engine: Engine) =>
    engine.requests.filter(({ target }) => target === "/echo").length;
  const others = engines.filter((engine) => engine !== bound);
  return {
    status: response.status,
    endpoint: response.headers.get("x-tryst-endpoint"),
    attempts: response.headers.get("x-tryst-attempts"),
    error: response.headers.get("x-tryst-error"),
    body,
    sent: [count(bound), others.reduce((sum, other) => sum + count(other), 0)],
  };
}

interface Row {
  readonly name: string;
  readonly init: RequestInit;
  readonly fault: Parameters<Engine["faults"]["set"]>[0] | "killed";
  readonly config?: Record<string, unknown>;
  readonly status: number;
  readonly attempts: string;
  readonly error?: string;
  readonly sent: readonly [bound: number, others: number];
}

const POST = { method: "POST", body: "{}" };
const GET = { method: "GET" };
const PUT = { method: "PUT", body: "{}" };

const ROWS: readonly Row[] = [
  {
    name: "POST, connection refused: next rank (PS #382, #643)",
    init: POST,
    fault: "killed",
    status: 200,
    attempts: "2",
    sent: [0, 1],
  },
  {
    name: "POST, connection refused, one attempt allowed: unreachable",
    init: POST,
    fault: "killed",
    config: { attempts: { max: 1 } },
    status: 502,
    attempts: "1",
    error: "upstream_unreachable",
    sent: [0, 0],
  },
  {
    name:
      "POST, reset after it was sent: an error, never again (F1 deno #35610)",
    init: POST,
    fault: { resetBeforeHead: true },
    status: 502,
    attempts: "1",
    error: "upstream_reset",
    sent: [1, 0],
  },
  {
    name: "GET, reset on an idle connection: once more on a new one, next rank",
    init: GET,
    fault: { resetBeforeHead: true },
    status: 200,
    attempts: "2",
    sent: [2, 1],
  },
  {
    name: "PUT with its body held whole, reset: as GET",
    init: PUT,
    fault: { resetBeforeHead: true },
    status: 200,
    attempts: "2",
    sent: [2, 1],
  },
  {
    name: "PUT whose body was streamed, reset: an error",
    init: { method: "PUT", body: "x".repeat(200_000) },
    fault: { resetBeforeHead: true },
    status: 502,
    attempts: "1",
    error: "upstream_reset",
    sent: [1, 0],
  },
  {
    name: "GET, answered with rubbish: an error",
    init: GET,
    fault: { garbage: true },
    status: 502,
    attempts: "1",
    error: "upstream_malformed",
    sent: [1, 0],
  },
  {
    name: "GET, the answer breaks off in its body: an error, never again",
    init: GET,
    fault: { truncateAfterBytes: 3 },
    status: 502,
    attempts: "1",
    error: "upstream_reset",
    sent: [1, 0],
  },
  {
    name: "POST, no first byte in time: an error that names the limit (F15)",
    init: POST,
    fault: { hang: true },
    config: { timeouts: { first_byte: "100ms" } },
    status: 504,
    attempts: "1",
    error: "upstream_first_byte_timeout",
    sent: [1, 0],
  },
  {
    name: "GET, no first byte in time: next rank (PS #749)",
    init: GET,
    fault: { hang: true },
    config: { timeouts: { first_byte: "100ms" } },
    status: 200,
    attempts: "2",
    sent: [1, 1],
  },
  {
    name: "POST, answered 500: passed on, never retried (PS #839)",
    init: POST,
    fault: { status: 500 },
    status: 500,
    attempts: "1",
    sent: [1, 0],
  },
  {
    name: "POST, answered 503: back-pressure is the client's to see",
    init: POST,
    fault: { status: 503, retryAfter: "7" },
    status: 503,
    attempts: "1",
    sent: [1, 0],
  },
];

for (const row of ROWS) {
  test(`failover: ${row.name}`, async () => {
    const config = row.config ?? {};
    await withWorld({ engines: TWO, config }, async (world) => {
      const bound = await bind(world);
      if (row.fault === "killed") await kill(bound);
      else bound.faults.set(row.fault, { targetPrefix: "/echo" });
      const outcome = await send(world, bound, row.init);
      assertEquals(outcome.status, row.status);
      assertEquals(outcome.attempts, row.attempts);
      assertEquals(outcome.error, row.error ?? null);
      assertEquals(outcome.sent, row.sent);
    });
  });
}

test("failover: a body that is still to come goes to the next rank whole", async () => {
  await withWorld({ engines: TWO }, async (world) => {
    const bound = await bind(world);
    await kill(bound);
    const body = "x".repeat(3_000_000);
    const outcome = await send(world, bound, { method: "POST", body });
    assertEquals(outcome.status, 200);
    assertEquals(outcome.sent, [0, 1]);
    const [other] = world.engines.filter((engine) => engine !== bound);
    const record = other?.requests.find(({ target }) => target === "/echo");
    assertEquals(record?.bodyByteCount, body.length);
  });
});

test("failover: the request id is the same in every attempt (F5 miles #1334)", async () => {
  await withWorld({ engines: TWO }, async (world) => {
    const bound = await bind(world);
    bound.faults.set({ resetBeforeHead: true }, { targetPrefix: "/echo" });
    await send(world, bound, GET);
    const ids = world.engines.flatMap(({ requests }) =>
      requests.filter(({ target }) => target === "/echo")
        .map(({ headerLines }) =>
          headerLines.find((line) => /^x-request-id:/i.test(line))
        )
    );
    assertEquals(ids.length, 3);
    assertEquals(new Set(ids).size, 1);
    assertMatch(ids[0] ?? "", /req-/);
  });
});

test("failover: when everyone refuses, the first failure is told (PS all refuse)", async () => {
  await withWorld({ engines: TWO }, async (world) => {
    const bound = await bind(world);
    for (const engine of world.engines) await kill(engine);
    const outcome = await send(world, bound, POST);
    assertEquals(outcome.status, 502);
    assertEquals(outcome.attempts, "2");
    assertEquals(JSON.parse(outcome.body).error.code, "upstream_unreachable");
  });
});

test("failover: connections that idled out are not failures (F2 deno #32006, F3 caddy #6452)", async () => {
  await withWorld({ engines: [{}] }, async ({ url, engines: [engine] }) => {
    if (engine === undefined) throw new Error("Cannot find the engine");
    engine.faults.closeIdleAfterMs = 50;
    for (let round = 0; round < 3; round++) {
      const response = await fetch(`${url}/echo`, POST);
      assertEquals(response.status, 200);
      assertEquals(response.headers.get("x-tryst-attempts"), "1");
      await response.body?.cancel();
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    const echoes = engine.requests.filter(({ target }) => target === "/echo");
    assertEquals(echoes.length, 3);
  });
});
