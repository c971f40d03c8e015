/**
 * Fifty queues of several workers, in which nothing may go wrong but what is
 * made to; and bugs that are planted and found.
 *
 * Invariant: the seeds together show everything that a queue can meet.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { QUEUE_CANARIES } from "./queue_canaries.ts";
import { runQueue } from "./queue_scenario.ts";

/** Fixed, so that a failure is the fault of the change that shows it. */
const SEEDS = Array.from({ length: 50 }, (_, index) => index + 1);

/** What the seeds must show. */
const SIGHTS = [
  "a bell is not heard",
  "a client leaves",
  "a limit falls",
  "a limit rises",
  "a place is handed over",
  "a session is served elsewhere",
  "a worker dies",
  "an endpoint is draining",
  "an endpoint is ejected",
  "an endpoint is ready",
  "the list changes",
];

test("fifty queues keep every promise, and are queues", () => {
  const seen = new Set<string>();
  const ends = new Set<string>();
  for (const seed of SEEDS) {
    const site = runQueue(seed);
    assertEquals([...site.problems], [], `seed ${seed}`);
    for (const sight of site.sights) seen.add(sight);
    for (const made of site.calls) {
      if (made.gaveUp !== undefined) ends.add(made.gaveUp);
      if (site.lost.has(made)) ends.add("lost");
      if (site.left.has(made)) ends.add("left");
      if (made.servedBy !== undefined) ends.add("served");
    }
  }
  assertEquals(SIGHTS.filter((sight) => !seen.has(sight)), []);
  assertEquals([...ends].sort(), [
    "left",
    "lost",
    "served",
    "timeout",
    "unserved",
  ]);
});

test("the same seed serves the same calls in the same order", () => {
  for (const seed of [1, 2, 3, 4]) {
    assertEquals(runQueue(seed).queues.served, runQueue(seed).queues.served);
  }
});

for (const [name, canary] of Object.entries(QUEUE_CANARIES)) {
  test(`"${canary.foundBy}" finds the canary ${name}`, () => {
    using _planted = canary.plant();
    const isFound = SEEDS.some((seed) =>
      [...runQueue(seed).problems].some((problem) =>
        problem.startsWith(`${canary.foundBy}: `)
      )
    );
    assert(isFound, `not found in ${SEEDS.length} queues`);
  });
}
