/**
 * Tests of the keys under `queue` and `engine_metrics`.
 *
 * Invariant: each table has bad input first, then the limits and their
 * neighbors.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { accepted, NAMES } from "../../tests/config_reading.ts";
import { test } from "../../tests/leakproof.ts";
import { complaintsText, parseConfig } from "./parse.ts";
import { configRows } from "./reference.ts";

function refused(document: unknown): string {
  const result = parseConfig(document, { names: NAMES });
  assert(result.kind === "refused", "Expected complaints");
  assertEquals(result.complaints.length, 1);
  return complaintsText(result.complaints);
}

test("parseConfig() refuses a queue that means nothing", () => {
  const table: [queue: unknown, piece: string][] = [
    [1, `"queue" as it must be a mapping of keys`],
    [{ polcy: "las" }, `"queue.polcy" as it is not a known key: did you mean`],
    [{ policy: "lass" }, `must be a scheduling policy: did you mean "las"?`],
    [{ policy: "rendezvous" }, `known are critical_path, fcfs, las`],
    [{ policy: null }, `known are critical_path, fcfs, las`],
    [{ max: -1 }, `"queue.max" as it must be a whole number from 0 to 100000`],
    [{ max: 100_001 }, `current value is 100001`],
    [{ max: 1.5 }, `must be a whole number`],
    [{ max: "none" }, `must be a whole number`],
    [{ session_max: 0 }, `from 1 to 10000: current value is 0`],
    [{ session_max: 10_001 }, `from 1 to 10000`],
    [{ boost_ratio: 0.09 }, `"queue.boost_ratio" as it must be a number from`],
    [{ boost_ratio: 100.1 }, `from 0.1 to 100`],
    [{ boost_ratio: NaN }, `from 0.1 to 100`],
    [{ overdue: 20 }, `"queue.overdue" as it must be a duration`],
    [{ overdue: "0s" }, `must be over 0`],
    [{ keepalive: "0s" }, `must be over 0`],
    [{ keepalive: false }, `"queue.keepalive" as it must be a duration`],
    [{ priority_min: -30 }, `from -29 to 29: current value is -30`],
    [{ priority_min: 0.5 }, `from -29 to 29`],
    [{ priority_max: 30 }, `from -29 to 29: current value is 30`],
    [{ priority_max: "high" }, `from -29 to 29`],
  ];
  for (const [queue, piece] of table) {
    const line = refused({ queue });
    assert(line.includes(piece), `${line} has no ${piece}`);
  }
});

test("parseConfig() takes both ends of every bound of a queue", () => {
  const low = accepted({
    queue: {
      policy: "fcfs",
      max: 0,
      session_max: 1,
      boost_ratio: 0.1,
      overdue: "1ms",
      keepalive: "1ms",
      priority_min: -29,
      priority_max: -29,
    },
  });
  assertEquals(low.queue, {
    policy: "fcfs",
    max: 0,
    sessionMax: 1,
    boostRatio: 0.1,
    overdueMs: 1,
    keepaliveMs: 1,
    priorityMin: -29,
    priorityMax: -29,
  });
  const high = accepted({
    queue: {
      max: 100_000,
      session_max: 10_000,
      boost_ratio: 100,
      overdue: "none",
      keepalive: "none",
      priority_min: 29,
      priority_max: 29,
    },
  });
  assertEquals(high.queue, {
    policy: "critical_path",
    max: 100_000,
    sessionMax: 10_000,
    boostRatio: 100,
    overdueMs: undefined,
    keepaliveMs: undefined,
    priorityMin: 29,
    priorityMax: 29,
  });
});

test("parseConfig() wants a call overdue before it is given up", () => {
  const wrong: [overdue: string, timeout: string][] = [
    ["1m", "1m"],
    ["2m", "119999ms"],
    ["1s", "1ms"],
  ];
  for (const [overdue, queue] of wrong) {
    const line = refused({ queue: { overdue }, timeouts: { queue } });
    assert(line.startsWith(`Cannot use "queue.overdue" as it must be below`));
    const told = `"timeouts.queue", which is ${queue}: current value is`;
    assert(line.includes(told) && line.includes(overdue), line);
  }
  const right: [overdue: string, timeout: string][] = [
    ["59999ms", "60s"],
    ["none", "1ms"],
    ["20d", "none"],
    ["none", "none"],
  ];
  for (const [overdue, queue] of right) {
    accepted({ queue: { overdue }, timeouts: { queue } });
  }
});

test("parseConfig() has the one of overdue and timeout follow that is not given", () => {
  const table: [
    overdue: string | undefined,
    timeout: string | undefined,
    overdueMs: number | undefined,
    timeoutMs: number | undefined,
  ][] = [
    [undefined, undefined, 45_000, 60_000],
    [undefined, "45001ms", 45_000, 45_001],
    [undefined, "45s", 33_750, 45_000],
    [undefined, "5s", 3_750, 5_000],
    [undefined, "1ms", 0, 1],
    [undefined, "none", 45_000, undefined],
    ["59999ms", undefined, 59_999, 60_000],
    ["60s", undefined, 60_000, 80_000],
    ["24d", undefined, 24 * 86_400_000, 2 ** 31 - 1],
    ["none", undefined, undefined, 60_000],
  ];
  for (const [overdue, queue, overdueMs, timeoutMs] of table) {
    const { queue: taken, timeouts } = accepted({
      queue: overdue === undefined ? {} : { overdue },
      timeouts: queue === undefined ? {} : { queue },
    });
    const text = `${overdue} ${queue}`;
    assertEquals(
      [taken.overdueMs, timeouts.queueMs],
      [overdueMs, timeoutMs],
      text,
    );
  }
});

test("parseConfig() wants priorities in order", () => {
  const line = refused({ queue: { priority_min: 1 } });
  assert(line.startsWith(`Cannot use "queue.priority_max" as it must not be`));
  assert(line.includes(`"queue.priority_min", which is 1: current value is 0`));
  accepted({ queue: { priority_min: 0, priority_max: 0 } });
});

test("parseConfig() reads how long a call waits", () => {
  const table: [document: unknown, patienceMs: number, queueMs: unknown][] = [
    [{}, 15_000, 60_000],
    [{ routing: { affinity_patience: "0s" } }, 0, 60_000],
    [{ routing: { affinity_patience: "250ms" } }, 250, 60_000],
    [{ timeouts: { queue: "none" } }, 15_000, undefined],
    [{ timeouts: { queue: "10m" } }, 15_000, 600_000],
  ];
  for (const [document, patienceMs, queueMs] of table) {
    const { routing, timeouts } = accepted(document);
    assertEquals(routing.affinityPatienceMs, patienceMs);
    assertEquals(timeouts.queueMs, queueMs);
  }
  assert(refused({ timeouts: { queue: "0s" } }).includes("must be over 0"));
});

test("parseConfig() reads where engines tell their load", () => {
  const wrong: [section: unknown, piece: string][] = [
    [1, `"engine_metrics" as it must be a mapping of keys`],
    [{ path: "metrics" }, `"engine_metrics.path" as it must be a path such as`],
    [{ path: "auto" }, `must be a path such as /metrics, or none`],
    [{ path: "/a b" }, `must be a path`],
    [{ path: "/a\r\nb: c" }, `must be a path`],
    [{ path: `/${"a".repeat(1_024)}` }, `must be a path`],
    [
      { interval: "none" },
      `"engine_metrics.interval" as it must be a duration`,
    ],
    [{ interval: 2 }, `must be a duration`],
  ];
  for (const [section, piece] of wrong) {
    const line = refused({ engine_metrics: section });
    assert(line.includes(piece), `${line} has no ${piece}`);
  }
  const longest = `/${"a".repeat(1_023)}`;
  const right: [section: unknown, path: unknown, intervalMs: number][] = [
    [null, "/metrics", 2_000],
    [{ path: "none" }, undefined, 2_000],
    [{ path: "/m?x=1", interval: "1ms" }, "/m?x=1", 1],
    [{ path: longest }, longest, 2_000],
  ];
  for (const [section, path, intervalMs] of right) {
    const { engineMetrics } = accepted({ engine_metrics: section });
    assertEquals(engineMetrics, { path, intervalMs });
  }
});

test("parseConfig() leaves every accepted queue usable", () => {
  const any = fc.oneof(
    fc.constantFrom("none", "0s", "1s", "60s", "las", "-1", -1, 0, 1, 64),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const keys = configRows().flatMap(({ key }) =>
    key.startsWith("queue.") ? [key.slice("queue.".length)] : []
  );
  assertEquals(keys.length, 8);
  const sections = fc.dictionary(fc.constantFrom(...keys), any);
  fc.assert(
    fc.property(sections, any, (queue, timeout) => {
      const document = { queue, timeouts: { queue: timeout } };
      const result = parseConfig(document, { names: NAMES });
      if (result.kind === "refused") return;
      const { queue: taken, timeouts } = result.config;
      assert(NAMES.schedulingNames.includes(taken.policy));
      assert(Number.isInteger(taken.max) && taken.sessionMax >= 1);
      assert(taken.priorityMin <= taken.priorityMax);
      assert(
        (taken.overdueMs ?? 0) < (timeouts.queueMs ?? Infinity),
        JSON.stringify(document),
      );
    }),
    { numRuns: 500 },
  );
});
