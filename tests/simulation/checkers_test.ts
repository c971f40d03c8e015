/**
 * Each checker finds what it is there for, in a log that is spoiled by hand.
 *
 * Invariant: a log is spoiled in a copy.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import type { Checker } from "./checkers/checker.ts";
import * as checkers from "./checkers/mod.ts";
import type { EventBody, SimulationEvent } from "./events.ts";
import { NO_FAULTS } from "./faults.ts";
import { runWorld } from "./world.ts";

/** A way to spoil a log, and what the checker says of it. */
interface Row {
  readonly name: string;
  readonly checker: Checker;
  readonly spoil: (events: SimulationEvent[]) => void;
  readonly says: RegExp;
}

const ROWS: readonly Row[] = [
  {
    name: "a request without an end",
    checker: checkers.settleOnce,
    spoil: (events) => take(events, "end"),
    says: /has 0 times "end"/,
  },
  {
    name: "a request with two answers",
    checker: checkers.settleOnce,
    spoil: (events) => events.push({ ...first(events, "answer") }),
    says: /has 2 times "answer"/,
  },
  {
    name: "a place that is not given back",
    checker: checkers.settleOnce,
    spoil: (events) => change(events, "left", { value: 1 }),
    says: /: 1, want 0/,
  },
  {
    name: "a request that the gateway did not expect",
    checker: checkers.settleOnce,
    spoil: (events) => change(events, "answer", { error: "internal_error" }),
    says: /internal_error/,
  },
  {
    name: "a session that moves for no reason",
    checker: checkers.affinityCause,
    spoil: (events) => change(events, "answer", { endpoint: "e2" }, isHit),
    says: /went to e2 \(hit\) without a cause/,
  },
  {
    name: "a session that is forgotten for no reason",
    checker: checkers.affinityCause,
    spoil: (events) => change(events, "answer", { affinity: "new" }, isHit),
    says: /\(new\) without a cause/,
  },
  {
    name: "a session that is not recognized",
    checker: checkers.affinityCause,
    spoil: (events) => change(events, "answer", { affinity: "none" }, isHit),
    says: /was not recognized/,
  },
  {
    name: "an endpoint that was never ready",
    checker: checkers.affinityCause,
    spoil: (events) => take(events, "state", ({ state }) => state === "ready"),
    says: /, not ready/,
  },
  {
    name: "a request that two engines work on",
    checker: checkers.noDoubleWork,
    spoil: (events) =>
      events.push({
        ...first(events, "engine_begin", ({ method }) => method === "POST"),
      }),
    says: /was processed 2 times/,
  },
  {
    name: "a request that nobody sent",
    checker: checkers.noDoubleWork,
    spoil: (events) => change(events, "engine_begin", { request: "r0" }),
    says: /r0 was never sent/,
  },
  {
    name: "a body that was changed on its way",
    checker: checkers.noDoubleWork,
    spoil: (events) => change(events, "engine_read", { bodyHash: 0 }),
    says: /with another body/,
  },
  {
    name: "an answer with a byte that no engine sent",
    checker: checkers.bytesPrefix,
    spoil: (events) => change(events, "end", { received: "?" }),
    says: /is not what e\d sent/,
  },
  {
    name: "a beginning that looks like the whole",
    checker: checkers.bytesPrefix,
    spoil: (events) => change(events, "end", { received: "" }),
    says: /looks complete and is not/,
  },
  {
    name: "a table above its limit",
    checker: checkers.bounds,
    spoil: (events) => change(events, "gauge", { value: 1e9 }),
    says: /1000000000, at most/,
  },
  {
    name: "a request that never ends",
    checker: checkers.liveness,
    spoil: (events) => take(events, "end"),
    says: /never ends/,
  },
  {
    name: "a request that takes too long",
    checker: checkers.liveness,
    spoil: (events) => change(events, "end", { atMs: Infinity }),
    says: /ms after faults/,
  },
  {
    name: "a session that is refused after all faults",
    checker: checkers.liveness,
    spoil: (events) =>
      events.forEach((event, at) => {
        if (event.kind === "answer") events[at] = { ...event, status: 503 };
      }),
    says: /after all faults: 503/,
  },
];

test("checkers find what is spoiled, and nothing else", async () => {
  const events = await runWorld({
    seed: 1,
    scenario: {
      gatewayCount: 1,
      endpointCount: 4,
      hasTwoModels: false,
      maxInFlight: undefined,
      requestsMax: 1_000,
      sessionCount: 6,
      turnCountMax: 5,
      parallelTurns: 0,
      vanishing: 0,
      idleTtlMs: 1_800_000,
      capacity: 512,
      faults: NO_FAULTS,
    },
  });
  for (const { name, checker, spoil, says } of ROWS) {
    assertEquals(checker(events), [], name);
    const spoiled = [...events];
    spoil(spoiled);
    const problems = checker(spoiled);
    assert(
      problems.some((problem) => says.test(problem)),
      `${name}: ${problems}`,
    );
  }
});

/** The events of a kind. */
type Of<Kind extends EventBody["kind"]> = Extract<
  SimulationEvent,
  { readonly kind: Kind }
>;

function indexOf<Kind extends EventBody["kind"]>(
  events: readonly SimulationEvent[],
  kind: Kind,
  isWanted: (event: Of<Kind>) => boolean,
): number {
  const at = events.findIndex((event) =>
    event.kind === kind && isWanted(event as Of<Kind>)
  );
  assert(at >= 0, `there is no ${kind}`);
  return at;
}

function first<Kind extends EventBody["kind"]>(
  events: readonly SimulationEvent[],
  kind: Kind,
  isWanted: (event: Of<Kind>) => boolean = () => true,
): Of<Kind> {
  return events[indexOf(events, kind, isWanted)] as Of<Kind>;
}

function take<Kind extends EventBody["kind"]>(
  events: SimulationEvent[],
  kind: Kind,
  isWanted: (event: Of<Kind>) => boolean = () => true,
): void {
  events.splice(indexOf(events, kind, isWanted), 1);
}

function change<Kind extends EventBody["kind"]>(
  events: SimulationEvent[],
  kind: Kind,
  changes: Partial<Of<Kind>>,
  isWanted: (event: Of<Kind>) => boolean = () => true,
): void {
  const at = indexOf(events, kind, isWanted);
  events[at] = { ...events[at] as Of<Kind>, ...changes };
}

/** Whether an answer came from where the session is bound, and not from e2. */
function isHit({ affinity, endpoint }: Of<"answer">): boolean {
  return affinity === "hit" && endpoint !== "e2";
}
