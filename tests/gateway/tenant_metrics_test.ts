/**
 * Each tenant's requests are counted once, by how they ended.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare } from "./requests.ts";
import { withScript } from "./scripted_engine.ts";
import type { GatewayWorld } from "./world.ts";

const SECRETS = {
  keys: parseKeyLines("red:red-key-0123456789\nblue:blue-key-0123456789"),
  credentials: new Map(),
};

const RED = "X-Api-Key: red-key-0123456789";

/** Looks, 5 ms apart: a second at most. */
const LOOKS_MAX = 200;

/** The series of tenants that are not 0. */
async function seriesOf({ gateway }: GatewayWorld): Promise<string[]> {
  const page = await gateway.control.metrics.metrics();
  return page.split("\n").filter((line) =>
    line.startsWith("tryst_tenant_") && !line.endsWith(" 0")
  );
}

async function until(world: GatewayWorld, line: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if ((await seriesOf(world)).includes(line)) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Cannot see ${line} in ${await seriesOf(world)}`);
}

test("a tenant's requests are counted by what their clients were told", async () => {
  await withScript(async (peer, request) => {
    const [, target = ""] = request.split(" ");
    const status = Number(/^\/(\d{3})$/.exec(target)?.[1] ?? 0);
    if (status === 0) return;
    await peer.send(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`);
  }, async (world) => {
    const { port } = world;
    for (const target of ["/200", "/200", "/404", "/500"]) {
      await call(port, bare("GET", target, [RED]));
    }
    // Whom nobody knows is nobody's tenant.
    await call(port, bare("GET", "/200", ["X-Api-Key: nobodys-key-012345"]));
    await call(
      port,
      bare("GET", "/200", [
        "Authorization: Bearer blue-key-0123456789",
      ]),
    );
    const one = await RawClient.connect(port);
    await one.send(bare("GET", "/never", [RED]));
    await until(world, 'tryst_tenant_requests_in_flight{tenant="red"} 1');
    const two = await RawClient.connect(port);
    await two.send(bare("GET", "/200", [RED]));
    await until(world, 'tryst_tenant_queue_waiting{tenant="red"} 1');
    await until(world, 'tryst_tenant_requests_in_flight{tenant="red"} 2');
    await call(port, bare("GET", "/200", [RED]));
    two.close();
    await until(world, 'tryst_tenant_requests_in_flight{tenant="red"} 1');
    one.close();
    await world.idle();
    assertEquals(await seriesOf(world), [
      'tryst_tenant_requests_total{tenant="red",outcome="2xx"} 2',
      'tryst_tenant_requests_total{tenant="red",outcome="4xx"} 1',
      'tryst_tenant_requests_total{tenant="red",outcome="5xx"} 1',
      'tryst_tenant_requests_total{tenant="red",outcome="limited"} 1',
      'tryst_tenant_requests_total{tenant="red",outcome="client_gone"} 2',
      'tryst_tenant_requests_total{tenant="blue",outcome="2xx"} 1',
    ]);
  }, {
    secrets: SECRETS,
    endpoints: [{ max_in_flight: 1 }],
    config: { tenants: { red: { queued: 1 } } },
  });
});
