/**
 * The program with four worker threads and an engine that takes two requests
 * at a time: one queue over all of them.
 *
 * Invariant: the engine holds its answers until everything waits, so that the
 * order afterwards depends on the queue alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { serveProgram, until } from "../admin/program.ts";
import { test } from "../leakproof.ts";
import { RawClient } from "./raw_client.ts";
import { post } from "./requests.ts";

/** Requests at once, each on a connection of its own. */
const REQUESTS = 200;

/** Requests that the engine takes at a time. */
const LIMIT = 2;

/** Notes what is being answered, behind a gate. */
class NarrowEngine implements AsyncDisposable {
  readonly url: string;
  /** Paths in the order in which they came. */
  readonly came: string[] = [];
  inFlightMax = 0;
  #inFlight = 0;
  readonly #gate = Promise.withResolvers<void>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  open(): void {
    this.#gate.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.open();
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    if (request.method === "GET") return Response.json({ data: [] });
    await request.text();
    this.came.push(new URL(request.url).pathname);
    this.inFlightMax = Math.max(this.inFlightMax, ++this.#inFlight);
    await this.#gate.promise;
    await new Promise((resolve) => setTimeout(resolve, 1));
    this.#inFlight--;
    return Response.json({});
  }
}

function sumOf(page: string, name: string): number {
  const values = page.matchAll(new RegExp(`^${name}(?:{.*})? (\\d+)$`, "gm"));
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
}

test("four workers serve 200 requests two at a time, in the order of one queue", async () => {
  await using engine = new NarrowEngine();
  await using served = await serveProgram([
    "workers: 4",
    "session: { capacity: 1024 }",
    `endpoints: [{ id: e, url: ${engine.url}, max_in_flight: ${LIMIT} }]`,
  ].join("\n"));
  const clients = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, at) => {
      const client = await RawClient.connect(served.port);
      const isLate = at % 2 === 0;
      await client.send(post(
        isLate ? `/late/${at}` : `/soon/${at}`,
        "{}",
        isLate ? ["X-Tryst-Priority: -9"] : [],
      ));
      return client;
    }),
  );
  const page = async () => (await served.admin("/metrics")).body;
  await until("everything to wait", async () => {
    const waiting = sumOf(await page(), "tryst_queue_waiting");
    return waiting === REQUESTS - LIMIT;
  });
  assertEquals(engine.came.length, LIMIT);
  engine.open();
  const replies = await Promise.all(clients.map((client) => client.reply()));
  for (const client of clients) client.close();
  assertEquals(new Set(replies.map(({ status }) => status)), new Set([200]));
  assertEquals(new Set(engine.came).size, REQUESTS);
  assertEquals(engine.inFlightMax, LIMIT);
  // Two are dispatched at once, and may overtake each other on their way.
  const waited = engine.came.slice(LIMIT);
  const soon = waited.filter((path) => path.startsWith("/soon/")).length;
  const early = waited.slice(0, soon - LIMIT + 1);
  assertEquals(early.filter((path) => path.startsWith("/late/")), []);
  const last = waited.slice(soon + LIMIT - 1);
  assertEquals(last.filter((path) => path.startsWith("/soon/")), []);
  const after = await page();
  const handOvers = sumOf(after, "tryst_queue_hand_overs_total");
  // Some 40: workers accept connections in runs, which stay among themselves.
  assert(handOvers > REQUESTS / 20, `${handOvers} places were handed over`);
  assertEquals(sumOf(after, "tryst_queue_waiting"), 0);
  assertEquals(sumOf(after, "tryst_endpoint_in_flight"), 0);
});
