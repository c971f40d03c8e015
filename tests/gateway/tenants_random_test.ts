/**
 * What tenants hold is given back whatever happens to their requests: played
 * at random, with clients and engines that leave at any time, waiting calls
 * included.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import { test } from "../leakproof.ts";
import type { Peer } from "../scripted_server.ts";
import { RawClient } from "./raw_client.ts";
import { bare } from "./requests.ts";
import { withScript } from "./scripted_engine.ts";
import type { GatewayWorld } from "./world.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const KEYS = ["red-key-0123456789", "red-key-9876543210", "blue-key-0123456"];

const OPTIONS = {
  secrets: {
    keys: parseKeyLines(`red:${KEYS[0]}\nred:${KEYS[1]}\nblue:${KEYS[2]}`),
    credentials: new Map(),
  },
  endpoints: [{ max_in_flight: 2 }, { max_in_flight: 1 }],
  models: [[], []],
  config: {
    health: { failures: 1_000 },
    queue: { max: 2, overdue: "none" },
    timeouts: { queue: "200ms" },
    tenants: {
      default: { queued: 2, concurrent: 5, key_concurrent: 4 },
      blue: { queued: "none", requests_per_second: 100, burst: 6 },
    },
  },
};

/** What happens next: `at` picks one of those that are there. */
const STEP = fc.record({
  kind: fc.constantFrom(
    "send",
    "send",
    "send",
    "leave",
    "answer",
    "break",
    "pause",
  ),
  at: fc.nat(1_000),
});

/** One thing that happens. */
interface Step {
  readonly kind: "send" | "leave" | "answer" | "break" | "pause";
  readonly at: number;
}

/** Those that are there. */
interface Open {
  readonly clients: RawClient[];
  readonly peers: Peer[];
}

async function take(
  { at, kind }: Step,
  port: number,
  { clients, peers }: Open,
): Promise<void> {
  switch (kind) {
    case "send": {
      const key = `X-Api-Key: ${KEYS[at % KEYS.length]}`;
      const session = `X-Session-Id: s${at % 5}`;
      const client = await RawClient.connect(port);
      clients.push(client);
      return await client.send(bare("GET", "/v1/x", [key, session]));
    }
    case "leave":
      return clients.splice(at % Math.max(1, clients.length), 1)[0]?.close();
    case "answer": {
      const [peer] = peers.splice(at % Math.max(1, peers.length), 1);
      return await peer?.send(OK).catch(() => {});
    }
    case "break":
      return peers.splice(at % Math.max(1, peers.length), 1)[0]?.close();
    case "pause":
      return await new Promise((resolve) => setTimeout(resolve, at % 5));
  }
}

/** Tenants with something that is held. */
function holders({ gateway }: GatewayWorld): string[] {
  return gateway.control.keys.tenants()
    .filter(({ running, waiting }) => running !== 0 || waiting !== 0)
    .map(({ running, tenant, waiting }) => `${tenant} ${running} ${waiting}`);
}

test("tenants hold nothing in the end, whatever happened", async () => {
  const open: Open = { clients: [], peers: [] };
  const outcomes = [0, 0, 0, 0, 0, 0, 0];
  await withScript((peer) => {
    open.peers.push(peer);
    return Promise.resolve();
  }, async (world) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(STEP, { minLength: 30, maxLength: 80 }),
        async (steps) => {
          for (const step of steps) await take(step, world.port, open);
          for (const client of open.clients.splice(0)) client.close();
          for (const peer of open.peers.splice(0)) peer.close();
          await world.idle();
          assertEquals(holders(world), []);
        },
      ),
      { numRuns: 15, endOnFailure: true },
    );
    for (const { counts } of world.gateway.control.keys.tenants()) {
      counts.forEach((count, at) => outcomes[at] = (outcomes[at] ?? 0) + count);
    }
  }, OPTIONS);
  // Served, refused, failed, limited and left: all of it has happened.
  for (const at of [1, 3, 4, 5, 6]) {
    assert((outcomes[at] ?? 0) > 0, `${at}: ${outcomes}`);
  }
});
