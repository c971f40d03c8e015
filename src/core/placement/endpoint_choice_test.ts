/**
 * What a choice makes of a binding whose endpoint takes no work: after a
 * restart it stays for a while, at any other time the session moves.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { keyOf, World } from "../../../tests/placement_world.ts";
import type { EndpointState } from "../endpoint.ts";
import { EndpointChoice } from "./endpoint_choice.ts";
import { rankByRendezvous } from "./rendezvous.ts";
import type { RoutingPolicy } from "../routing_policy.ts";

const LIMIT_MS = 10_000;

const POLICY: RoutingPolicy = {
  rank: ({ key = { a: 1, b: 1 } }, pool) => rankByRendezvous(key, pool),
};

/** A session that is bound to `a`, beside which there is `b`. */
function bound(unseenUntilMs: number | undefined) {
  const world = new World({ endpoints: [{ id: "a" }] });
  world.call("s");
  world.setEndpoints([{ id: "a" }, { id: "b" }]);
  const { endpoints, sessions } = world;
  const choice = new EndpointChoice({
    sessions,
    endpoints,
    policy: POLICY,
    fallback: POLICY,
    imbalance: 1.25,
    ...(unseenUntilMs === undefined ? {} : { unseenUntilMs }),
  });
  const pool = world.pools.whole;
  return { world, choice, pool, record: sessions.find(keyOf("s")) };
}

test("a binding outlasts that its endpoint has not been seen since the start", () => {
  const cases: [
    state: EndpointState,
    untilMs: number | undefined,
    nowMs: number,
    outcome: string,
  ][] = [
    ["probing", undefined, 0, "moved"],
    ["probing", LIMIT_MS, 0, "spilled"],
    ["probing", LIMIT_MS, LIMIT_MS - 1, "spilled"],
    ["probing", LIMIT_MS, LIMIT_MS, "moved"],
    ["ejected", LIMIT_MS, 0, "moved"],
    ["draining", LIMIT_MS, 0, "moved"],
    ["ready", LIMIT_MS, 0, "hit"],
  ];
  for (const [state, untilMs, nowMs, outcome] of cases) {
    const name = `${state} at ${nowMs} of ${untilMs}`;
    const { world, choice, pool, record } = bound(untilMs);
    world.endpoints.setState(world.slot("a"), state);
    const request = { key: keyOf("s"), pool, nowMs };
    const chosen = choice.choose(request, record);
    assertEquals(chosen?.outcome, outcome, name);
    const id = outcome === "hit" ? "a" : "b";
    assertEquals(pool.ids[chosen?.index ?? -1], id, name);
    // The same when the place was waited for.
    const index = pool.ids.indexOf(id);
    world.sessions.bindTentative(record, world.sessions.tentative(record), 0);
    assertEquals(choice.accept(request, record, index).outcome, outcome, name);
  }
});

test("a binding to no endpoint of the pool is not waited for", () => {
  const { world, choice, record } = bound(LIMIT_MS);
  world.setEndpoints([{ id: "b" }]);
  const request = { key: keyOf("s"), pool: world.pools.whole, nowMs: 0 };
  assertEquals(choice.choose(request, record)?.outcome, "moved");
});

test("nothing takes a call while no endpoint has been seen", () => {
  const { world, choice, pool, record } = bound(LIMIT_MS);
  for (const id of ["a", "b"]) {
    world.endpoints.setState(world.slot(id), "probing");
  }
  const request = { key: keyOf("s"), pool, nowMs: 0 };
  assertEquals(choice.choose(request, record), undefined);
  assertEquals(pool.indexOf(world.sessions.binding(record)), 0);
});
