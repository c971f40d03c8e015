/**
 * What a waiting call knows of its own future.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { World } from "../../../tests/placement_world.ts";
import { test } from "../../../tests/leakproof.ts";
import {
  boostAtMs,
  type SessionPast,
  WaitingCall,
  type WaitingCallFacts,
} from "./waiting_call.ts";

const world = new World({
  endpoints: [{ id: "a", models: ["m"] }, { id: "b", models: ["m", "n"] }],
});

function call(facts: Partial<WaitingCallFacts> = {}, nowMs = 0): WaitingCall {
  return new WaitingCall({
    pool: world.pool("m"),
    boundSlot: -1,
    tried: undefined,
    level: 0,
    patienceUntilMs: 0,
    boostAtMs: Infinity,
    overdueAtMs: Infinity,
    timeoutAtMs: Infinity,
    poolNow: () => world.pool("m"),
    granted: () => {},
    gaveUp: () => {},
    ...facts,
  }, { arrival: 0, nowMs, cell: 0 });
}

const BOUND = { boundSlot: world.slot("a"), patienceUntilMs: 100 };

const PLANS: [what: string, facts: Partial<WaitingCallFacts>, atMs: number][] =
  [
    ["never", {}, Infinity],
    ["at its timeout", { timeoutAtMs: 90 }, 90],
    ["when it is overdue", { timeoutAtMs: 90, overdueAtMs: 80 }, 80],
    ["when it is boosted", { level: 1, overdueAtMs: 80, boostAtMs: 70 }, 70],
    ["not by a boost to the top, where it is", { boostAtMs: 70 }, Infinity],
    ["when its patience ends", { ...BOUND, overdueAtMs: 101 }, 100],
    ["not for patience without a session", { patienceUntilMs: 9 }, Infinity],
    [
      "not for patience once one has failed it",
      { ...BOUND, tried: [7] },
      Infinity,
    ],
  ];
for (const [what, facts, atMs] of PLANS) {
  test(`a call changes next: ${what}`, () => {
    assertEquals(call(facts).nextAtMs, atMs);
  });
}

test("a call is patient while its patience lasts, and no longer", () => {
  const patient = [99, 100, 101].map((nowMs) => call(BOUND, nowMs).isPatient);
  assertEquals(patient, [true, false, false]);
});

test("enterPool() keeps a session's endpoint that is in the new pool", () => {
  const kept = call(BOUND);
  kept.enterPool(world.pool("m"));
  assertEquals([kept.boundSlot, kept.isPatient], [world.slot("a"), true]);
});

test("enterPool() forgets a session's endpoint that is not", () => {
  const lost = call(BOUND);
  lost.enterPool(world.pool("n"));
  assertEquals(
    [lost.boundSlot, lost.isPatient, lost.nextAtMs],
    [-1, false, Infinity],
  );
});

const BOOSTS: [what: string, past: SessionPast, ratio: number, atMs: number][] =
  [
    ["never without service", past(0, 5_000), 2, Infinity],
    ["never where no length is known", past(-1, 0), 2, Infinity],
    ["at once when it has waited enough", past(1_000, 2_000), 2, 50],
    ["at once when it has waited too long", past(1_000, 9_000), 2, 50],
    ["a millisecond later when one is missing", past(1_000, 1_999), 2, 51],
    ["after ratio times the service", past(1_000, 0), 2, 2_050],
    ["the expected service counts", past(1_000, 0, 500), 2, 3_050],
    ["at a ratio below 1", past(1_000, 0), 0.1, 150],
  ];
for (const [what, sums, ratio, atMs] of BOOSTS) {
  test(`boostAtMs(): ${what}`, () => {
    assertEquals(boostAtMs(sums, ratio, 50), atMs);
  });
}

function past(servedMs: number, waitedMs: number, expectedMs = 0): SessionPast {
  return { servedMs, waitedMs, expectedMs };
}
