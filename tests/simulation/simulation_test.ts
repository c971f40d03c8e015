/**
 * Fifty worlds in which nothing may go wrong but what is made to.
 *
 * Invariant: the seeds together show every fault and every outcome there is.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { problemsOf } from "./check.ts";
import { determinism } from "./determinism.ts";
import { eventsOf, type SimulationEvent } from "./events.ts";
import { FAULTS, NO_FAULTS } from "./faults.ts";
import { runWorld } from "./world.ts";

/** Fixed, so that a failure is the fault of the change that shows it. */
const SEEDS = Array.from({ length: 50 }, (_, index) => index + 1);

test("fifty worlds keep every promise, and are worlds", async () => {
  const seen = new Set<string>();
  for (const seed of SEEDS) {
    const events = await runWorld({ seed });
    assertEquals(problemsOf(events), [], `deno task sim --seed ${seed}`);
    for (const name of sightsOf(events)) seen.add(name);
  }
  const wanted = [
    ...Object.keys(FAULTS).map((name) => `fault ${name}`),
    ...["none", "new", "hit", "moved", "spilled"].map((at) => `affinity ${at}`),
    ...["complete", "broken", "canceled"].map((how) => `end ${how}`),
    ...["upload", "wait", "relay"].map((phase) => `gone ${phase}`),
    ...["ready", "ejected", "draining", "removed"].map((it) => `state ${it}`),
    "two attempts",
    "stays without faults",
  ];
  const missing = wanted.filter((name) => !seen.has(name));
  assertEquals(missing, [], "the seeds do not show everything");
});

/** What there is to be seen in a world. */
function sightsOf(events: readonly SimulationEvent[]): string[] {
  const sights: string[] = [];
  for (const event of events) {
    if (event.kind === "fault") sights.push(`fault ${event.name}`);
    else if (event.kind === "end") sights.push(`end ${event.how}`);
    else if (event.kind === "gone") sights.push(`gone ${event.phase}`);
    else if (event.kind === "state") sights.push(`state ${event.state}`);
    else if (event.kind === "answer") {
      sights.push(`affinity ${event.affinity}`);
      if (event.attempts > 1) sights.push("two attempts");
    }
  }
  const hasHit = sights.includes("affinity hit");
  const hasFaults = eventsOf(events, "fault").length > 0;
  if (hasHit && !hasFaults) sights.push("stays without faults");
  return sights;
}

test("the same seed gives the same events, byte for byte", async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    assertEquals(await determinism({ seed }), []);
  }
});

test("another seed gives other events", async () => {
  const [one, other] = [
    await runWorld({ seed: 1 }),
    await runWorld({ seed: 2 }),
  ];
  assertNotEquals(JSON.stringify(one), JSON.stringify(other));
});

test("determinism() finds chance that comes from elsewhere", async () => {
  let draws = 0;
  const problems: string[] = [];
  for (const seed of SEEDS.slice(0, 10)) {
    problems.push(
      ...await determinism({
        seed,
        // Goes on where the world before it has stopped.
        outside: (outside) => ({ ...outside, random: () => draws++ % 7 / 7 }),
      }),
    );
  }
  assert(problems.length > 0);
});

test("two gateways agree on sessions that meet no fault", async () => {
  for (const areTablesShared of [true, false]) {
    const events = await runWorld({
      seed: 7,
      scenario: {
        gatewayCount: 2,
        areTablesShared,
        maxInFlight: undefined,
        requestsMax: 1_000,
        sessionCount: 20,
        vanishing: 0,
        faults: NO_FAULTS,
      },
    });
    assertEquals(problemsOf(events), []);
    const gateways = new Set(
      eventsOf(events, "begin").map(({ gateway }) => gateway),
    );
    assertEquals(gateways.size, 2);
    const refused = eventsOf(events, "answer").filter((answer) =>
      answer.status !== 200
    );
    assertEquals(refused, []);
  }
});
