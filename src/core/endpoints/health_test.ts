/**
 * Tests of the state machine of an endpoint's health.
 *
 * Invariant: every row of the table in the header of `health.ts` has one here.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { ENDPOINT_STATES, type EndpointState } from "../endpoint.ts";
import {
  type Health,
  type HealthContext,
  type HealthEvent,
  newHealth,
  PROBE_RESULTS,
  stepHealth,
} from "./health.ts";
import type { HealthSettings } from "./health_settings.ts";

const SETTINGS: HealthSettings = {
  path: "auto",
  intervalMs: 5_000,
  timeoutMs: 2_000,
  healthyThreshold: 2,
  unhealthyThreshold: 3,
  failures: 3,
  backoffMs: 1_000,
  backoffMaxMs: 8_000,
  headers: [],
};

const NOW_MS = 1_000_000;

/** Halfway: no jitter on intervals, three quarters of a back-off. */
const CONTEXT: HealthContext = {
  settings: SETTINGS,
  nowMs: NOW_MS,
  random: () => 0.5,
};

const PASSED: HealthEvent = { kind: "probed", result: "passed" };
const FAILED: HealthEvent = { kind: "probed", result: "failed" };
const TIMED_OUT: HealthEvent = { kind: "probed", result: "timed_out" };
const REACHED: HealthEvent = { kind: "failures_reached", atMs: NOW_MS - 100 };
const DRAINED: HealthEvent = { kind: "drained" };
const RESTORED: HealthEvent = { kind: "restored" };
const EVENTS: readonly HealthEvent[] = [
  PASSED,
  FAILED,
  TIMED_OUT,
  REACHED,
  DRAINED,
  RESTORED,
];

function healthIn(state: EndpointState, more: Partial<Health> = {}): Health {
  return { ...newHealth(NOW_MS - 60_000), state, ...more };
}

function run(
  health: Health,
  events: readonly HealthEvent[],
  context = CONTEXT,
): Health {
  return events.reduce((at, event) => stepHealth(at, event, context), health);
}

test("stepHealth() takes the transitions of its table", () => {
  const lately = { answeredAtMs: NOW_MS - 9_999 };
  const longAgo = { answeredAtMs: NOW_MS - 10_000 };
  const rows: [
    from: Health,
    events: readonly HealthEvent[],
    to: EndpointState,
  ][] = [
    [healthIn("probing"), [FAILED, FAILED, FAILED, FAILED], "probing"],
    [healthIn("probing"), [TIMED_OUT, TIMED_OUT, TIMED_OUT], "probing"],
    [healthIn("probing"), [PASSED], "probing"],
    [healthIn("probing"), [PASSED, FAILED, PASSED], "probing"],
    [healthIn("probing"), [PASSED, TIMED_OUT, PASSED], "probing"],
    [healthIn("probing"), [PASSED, PASSED], "ready"],
    [healthIn("probing"), [REACHED], "probing"],
    [healthIn("probing"), [RESTORED], "probing"],
    [healthIn("probing"), [DRAINED], "draining"],
    [healthIn("ready"), [FAILED, FAILED, FAILED], "ejected"],
    [healthIn("ready"), [FAILED, FAILED], "ready"],
    [healthIn("ready"), [FAILED, FAILED, PASSED, FAILED, FAILED], "ready"],
    [healthIn("ready"), [TIMED_OUT, TIMED_OUT, TIMED_OUT], "ejected"],
    [healthIn("ready", longAgo), [TIMED_OUT, FAILED, TIMED_OUT], "ejected"],
    [healthIn("ready", lately), Array(9).fill(TIMED_OUT), "ready"],
    [healthIn("ready", lately), [FAILED, TIMED_OUT, FAILED], "ready"],
    // It refuses connections, whatever it answered before.
    [healthIn("ready", lately), [FAILED, FAILED, FAILED], "ejected"],
    [healthIn("ready"), [PASSED], "ready"],
    [healthIn("ready"), [REACHED], "ejected"],
    [healthIn("ready"), [RESTORED], "ready"],
    [healthIn("ready"), [DRAINED], "draining"],
    [healthIn("ejected"), [FAILED, FAILED], "ejected"],
    [healthIn("ejected", lately), [TIMED_OUT], "ejected"],
    [healthIn("ejected"), [PASSED], "ejected"],
    [healthIn("ejected"), [PASSED, FAILED, PASSED], "ejected"],
    [healthIn("ejected"), [PASSED, PASSED], "ready"],
    [healthIn("ejected"), [REACHED], "ejected"],
    [healthIn("ejected"), [RESTORED], "ejected"],
    [healthIn("ejected"), [DRAINED], "draining"],
    [healthIn("draining"), [PASSED, PASSED, PASSED], "draining"],
    [healthIn("draining"), [FAILED, FAILED, FAILED, FAILED], "draining"],
    [healthIn("draining"), [TIMED_OUT, TIMED_OUT, TIMED_OUT], "draining"],
    [healthIn("draining"), [REACHED], "draining"],
    [healthIn("draining"), [DRAINED], "draining"],
    [healthIn("draining"), [RESTORED], "probing"],
    [healthIn("draining"), [PASSED, RESTORED], "probing"],
    [healthIn("draining"), [PASSED, PASSED, FAILED, RESTORED], "probing"],
    [healthIn("draining"), [PASSED, PASSED, RESTORED], "ready"],
    [healthIn("ready", { passCount: 2 }), [DRAINED, RESTORED], "ready"],
  ];
  for (const [from, events, to] of rows) {
    const names = events.map((event) =>
      event.kind === "probed" ? event.result : event.kind
    );
    assertEquals(run(from, events).state, to, `${from.state}, ${names}`);
  }
  const tried = new Set(
    rows.map(([from, [event]]) =>
      `${from.state} ${EVENTS.indexOf(event ?? PASSED)}`
    ),
  );
  assertEquals(tried.size, ENDPOINT_STATES.length * EVENTS.length);
});

test("an answered request counts as life from then on", () => {
  const answered: HealthEvent = { kind: "answered", atMs: NOW_MS - 1 };
  for (const state of ENDPOINT_STATES) {
    const health = run(healthIn(state), [answered]);
    assertEquals(health, healthIn(state, { answeredAtMs: NOW_MS - 1 }));
    const older: HealthEvent = { kind: "answered", atMs: NOW_MS - 5_000 };
    assertEquals(run(health, [older]), health);
  }
});

test("probes are due after interval, retry or back-off", () => {
  const rows: [from: Health, event: HealthEvent, inMs: number][] = [
    [healthIn("probing"), FAILED, 1_000],
    [healthIn("probing"), PASSED, 1_000],
    [healthIn("probing", { passCount: 1 }), PASSED, 2_500],
    [healthIn("ready"), PASSED, 5_000],
    [healthIn("ready"), FAILED, 5_000],
    [healthIn("ready", { failCount: 2 }), FAILED, 750],
    [healthIn("ready"), REACHED, 750],
    [healthIn("ejected"), PASSED, 1_000],
    [healthIn("ejected", { backoffMs: 1_000 }), FAILED, 1_500],
    [healthIn("ejected", { backoffMs: 2_000 }), TIMED_OUT, 3_000],
    [healthIn("ejected", { backoffMs: 4_000 }), FAILED, 6_000],
    [healthIn("ejected", { backoffMs: 8_000 }), FAILED, 6_000],
    [healthIn("draining"), PASSED, 5_000],
    [healthIn("draining"), FAILED, 5_000],
    [healthIn("draining"), RESTORED, 0],
  ];
  for (const [from, event, inMs] of rows) {
    const { probeAtMs } = stepHealth(from, event, CONTEXT);
    assertEquals(
      probeAtMs - NOW_MS,
      inMs,
      `${from.state} ${event.kind} ${from.backoffMs}`,
    );
  }
});

test("the back-off doubles over relapses, and starts anew after health", () => {
  const rows: [readyForMs: number, backoffMs: number][] = [
    [0, 8_000],
    [7_999, 8_000],
    [8_000, 1_000],
    [999_999, 1_000],
  ];
  for (const [readyForMs, backoffMs] of rows) {
    const sinceMs = NOW_MS - readyForMs;
    const ready = healthIn("ready", { sinceMs, backoffMs: 4_000 });
    assertEquals(run(ready, [REACHED]).backoffMs, backoffMs, `${readyForMs}`);
  }
});

test("chance spreads probes by a tenth, back-offs over their upper half", () => {
  const at = (from: Health, event: HealthEvent, random: number) =>
    stepHealth(from, event, { ...CONTEXT, random: () => random }).probeAtMs -
    NOW_MS;
  const rows: [from: Health, event: HealthEvent, low: number, high: number][] =
    [
      [healthIn("ready"), PASSED, 4_500, 5_500],
      [healthIn("ready"), REACHED, 500, 1_000],
      [healthIn("probing", { passCount: 1 }), PASSED, 0, 5_000],
    ];
  for (const [from, event, low, high] of rows) {
    assertEquals(at(from, event, 0), low);
    const last = at(from, event, 1 - 2 ** -53);
    assert(last > high - 1 && last <= high, `${last}`);
  }
});

test("a state is entered when its cause happened", () => {
  assertEquals(run(healthIn("ready"), [REACHED]).sinceMs, NOW_MS - 100);
  assertEquals(run(healthIn("ready"), [DRAINED]).sinceMs, NOW_MS);
  assertEquals(
    run(healthIn("ready"), [PASSED]).sinceMs,
    healthIn("ready").sinceMs,
  );
});

test("whatever happens, only probes make ready and only restoring ends draining", () => {
  const event = fc.oneof(
    fc.constantFrom(...PROBE_RESULTS).map((result): HealthEvent => ({
      kind: "probed",
      result,
    })),
    fc.constantFrom(REACHED, DRAINED, RESTORED),
    fc.nat(NOW_MS).map((atMs): HealthEvent => ({ kind: "answered", atMs })),
  );
  const step = fc.record({ event, waitMs: fc.nat(20_000) });
  const settings = fc.record({
    healthyThreshold: fc.integer({ min: 1, max: 4 }),
    unhealthyThreshold: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60, size: "max" }),
      settings,
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (steps, thresholds, chance) => {
        let health = newHealth(0);
        let nowMs = 0;
        let passes = 0;
        for (const { event, waitMs } of steps) {
          nowMs += waitMs;
          const before = health;
          health = stepHealth(before, event, {
            settings: { ...SETTINGS, ...thresholds },
            nowMs,
            random: () => chance,
          });
          if (event.kind === "probed") {
            const isNeutral = event.result === "timed_out" &&
              before.state === "ready";
            if (event.result === "passed") passes++;
            else if (!isNeutral) passes = 0;
            assert(health.probeAtMs > nowMs || health.state === "ready");
          }
          if (health.state === "ready" && before.state !== "ready") {
            assert(passes >= thresholds.healthyThreshold);
          }
          if (before.state === "draining" && health.state !== "draining") {
            assertEquals(event.kind, "restored");
          }
          assert(health.probeAtMs <= nowMs + SETTINGS.backoffMaxMs);
          assert(health.backoffMs <= SETTINGS.backoffMaxMs);
        }
      },
    ),
  );
});
