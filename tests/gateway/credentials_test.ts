/**
 * An engine that wants a credential for everything, the gateway's own
 * questions about its health, models and metrics included.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { call } from "./raw_client.ts";
import { post } from "./requests.ts";
import {
  type GatewayOptions,
  type GatewayWorld,
  withGateway,
} from "./world.ts";

const FIRST = "Bearer first-engine-secret";
const SECOND = "Bearer second-engine-secret";

/** As vLLM names it. */
const PAGE = "vllm:num_requests_running 7\nvllm:num_requests_waiting 3\n";

/** Looks, 20 ms apart, for what takes some seconds at most: 15 s. */
const LOOKS_MAX = 750;

/** An engine that answers 401 to whoever does not show what it wants. */
class ClosedEngine implements AsyncDisposable {
  wanted = FIRST;
  /** What was shown, by path. */
  readonly shown = new Map<string, Set<string>>();
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
    }, (request) => this.#answer(request));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async #answer(request: Request): Promise<Response> {
    await request.text();
    const { pathname } = new URL(request.url);
    const shown = request.headers.get("authorization") ?? "nothing";
    const all = this.shown.get(pathname) ?? new Set();
    this.shown.set(pathname, all.add(shown));
    if (shown !== this.wanted) return new Response("no", { status: 401 });
    switch (pathname) {
      case "/v1/models":
        return Response.json({ data: [{ id: "m" }] });
      case "/metrics":
        return new Response(PAGE);
      default:
        return new Response("ok");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function secretsOf(value: string) {
  const header = ["authorization", value] as const;
  return { keys: undefined, credentials: new Map([["e0", header]]) };
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`Cannot see ${what}`);
}

/** Runs `body` with a gateway in front of such an engine. */
async function withClosed(
  options: GatewayOptions,
  body: (world: GatewayWorld, engine: ClosedEngine) => Promise<void>,
): Promise<void> {
  await using engine = new ClosedEngine();
  await withGateway([engine], {
    config: { engine_metrics: { interval: "500ms" } },
    ...options,
  }, async (world) => {
    await body(world, engine);
    // Nothing of a credential is ever told.
    const told = JSON.stringify([world.events, world.records, world.phases]);
    assertEquals(told.includes("engine-secret"), false);
  });
}

async function ask({ port }: GatewayWorld): Promise<number> {
  const { status } = await call(port, post("/v1/completions", "{}"));
  return status;
}

/** The models that the endpoint is known to serve. */
function modelsOf({ gateway }: GatewayWorld): readonly string[] {
  return [...gateway.control.directory.routes.plan.models.keys()];
}

test("an engine's credential goes with every question of the gateway", async () => {
  await withClosed({ secrets: secretsOf(FIRST) }, async (world, engine) => {
    const { control } = world.gateway;
    await until("gauges", () => control.endpoints()[0]?.engine !== undefined);
    assertEquals(control.endpoints()[0]?.engine?.gauges.running, 7);
    assertEquals(modelsOf(world), ["m"]);
    assertEquals(await ask(world), 200);
    for (const [path, shown] of engine.shown) {
      assertEquals([...shown], [FIRST], path);
    }
    assertEquals([...engine.shown.keys()].sort(), [
      "/health",
      "/metrics",
      "/v1/completions",
      "/v1/models",
    ]);
  });
});

test("without a credential the same engine has no models to tell of", async () => {
  await withClosed({}, async (world, engine) => {
    assertEquals(await ask(world), 401);
    assertEquals(modelsOf(world), []);
    assertEquals([...engine.shown.get("/v1/models") ?? []], ["nothing"]);
  });
});

test("another credential is shown from the moment it is known", async () => {
  await withClosed({
    secrets: secretsOf(FIRST),
    config: {
      engine_metrics: { interval: "500ms" },
      health: { interval: "200ms" },
    },
  }, async (world, engine) => {
    engine.wanted = SECOND;
    engine.shown.clear();
    world.gateway.replaceKeys(secretsOf(SECOND));
    await until("probes", () => engine.shown.has("/health"));
    await until("gauges", () => engine.shown.has("/metrics"));
    assertEquals(await ask(world), 200);
    for (const [path, shown] of engine.shown) {
      assertEquals(shown.has(SECOND), true, path);
    }
  });
});

test("what health.headers says is sent in place of the credential", async () => {
  const headers = { Authorization: SECOND };
  await withClosed({
    secrets: secretsOf(FIRST),
    endpoints: [{ health: { headers } }],
  }, async (_world, engine) => {
    await until("gauges", () => engine.shown.has("/metrics"));
    for (const path of ["/health", "/v1/models", "/metrics"]) {
      assertEquals([...engine.shown.get(path) ?? []], [SECOND], path);
    }
  });
});
