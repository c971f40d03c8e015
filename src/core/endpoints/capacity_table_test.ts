/**
 * The learned limit, through the reservations that it bounds.
 *
 * Faults are those of a scheduler for the same purpose whose capacity was an
 * estimate from lagging gauges, smoothed, and not reserved against.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { CAPACITY_CHANGES, LEARNED_LIMIT } from "./capacity.ts";
import { type CapacityGauges, CapacityTable } from "./capacity_table.ts";
import { EndpointTable } from "./endpoint_table.ts";

/** Some day in the range of real clocks, which no word can hold. */
const START_MS = 1_764_000_000_000;

const STREAM = { kind: "stream", requestBytes: 5_000 } as const;
const WHOLE = { kind: "whole", requestBytes: 5_000 } as const;

/** One endpoint that learns, and a clock. */
class Learner {
  nowMs = START_MS;
  readonly endpoints = new EndpointTable();
  readonly capacity = new CapacityTable(this.endpoints);

  constructor(limit = 64) {
    this.capacity.setLearning(5, true);
    this.endpoints.setLearned(5, limit);
  }

  get limit(): number {
    return this.endpoints.limit(5);
  }

  /** Answers like this, all sent now, until they decide; at most 1,024. */
  round(firstByteMs: number, inFlightAtStart = this.limit) {
    this.nowMs += firstByteMs;
    const { nowMs } = this;
    for (let count = 0; count < 1_024; count++) {
      const sample = { firstByteMs, inFlightAtStart, nowMs };
      const cause = this.capacity.answered(5, { ...STREAM, ...sample });
      if (cause !== undefined) return cause;
    }
    return undefined;
  }

  /** A reading, so many milliseconds after the last. */
  gauge(afterMs: number, gauges: Partial<CapacityGauges>) {
    this.nowMs += afterMs;
    const { nowMs } = this;
    const none = { running: 0, waiting: 0, cacheUsage: 0 };
    return this.capacity.gauged(5, { ...none, nowMs, ...gauges });
  }

  /** Takes all places that there are; returns how many. */
  take(): number {
    let taken = 0;
    while (taken < 10_000 && this.endpoints.tryReserve(5)) taken++;
    return taken;
  }
}

test("a limit that is reached rises by one a round, and falls at once", () => {
  const learner = new Learner();
  assertEquals(learner.round(50), "limit_reached");
  assertEquals(learner.round(50), "limit_reached");
  assertEquals(learner.limit, 66);
  assertEquals(learner.round(50, 65), "limit_not_reached");
  assertEquals(learner.limit, 66);
  assertEquals(learner.round(400), "slow_first_byte");
  assertEquals(learner.limit, 52);
  assertEquals(learner.round(400, 8), "lowest");
  assertEquals(learner.limit, 52);
  assertEquals(learner.round(150), "limit_reached");
});

test("what was sent before a cut does not count against the new limit", () => {
  const learner = new Learner(100);
  learner.round(50);
  assertEquals(learner.round(1_000), "slow_first_byte");
  const limit = learner.limit;
  for (let count = 0; count < 2_000; count++) {
    const sample = { firstByteMs: 1_001, inFlightAtStart: 100 };
    const { nowMs } = learner;
    learner.capacity.answered(5, { ...STREAM, ...sample, nowMs });
  }
  assertEquals(learner.limit, limit);
});

test("answers without a usable time, or of endpoints that do not learn, are nothing", () => {
  const learner = new Learner();
  for (const firstByteMs of [NaN, -1, -Infinity]) {
    assertEquals(learner.round(firstByteMs), undefined);
  }
  learner.nowMs = START_MS;
  for (const limit of [0, 64]) {
    learner.endpoints.setLimit(5, limit);
    assertEquals(learner.round(50), undefined);
    for (let count = 0; count < 3; count++) {
      assertEquals(learner.gauge(100, { waiting: 9 }), undefined);
    }
    assertEquals(learner.limit, limit);
    assertEquals(learner.capacity.reading(5), undefined);
  }
});

test("setLearning() keeps what is learned, begins anew, and ends", () => {
  const learner = new Learner(100);
  learner.round(50);
  learner.capacity.setLearning(5, true);
  assertEquals(learner.limit, 101);
  learner.capacity.setLearning(5, false);
  assertEquals(learner.limit, 0);
  learner.endpoints.setLimit(5, 7);
  learner.capacity.setLearning(5, false);
  assertEquals(learner.limit, 7);
  learner.capacity.setLearning(5, true);
  const reading = learner.capacity.reading(5);
  assertEquals(reading?.limit, LEARNED_LIMIT.initial);
  assertEquals(reading?.baselinesMs.size, 0);
  assertEquals(reading?.lastCause, undefined);
  // The slot of an endpoint that is gone.
  learner.endpoints.renew(5);
  assertEquals(learner.limit, 0);
  assertEquals(learner.round(50), undefined);
});

test("reading() tells what was decided, and how often", () => {
  const learner = new Learner();
  learner.round(50);
  learner.round(50);
  learner.round(900);
  const reading = learner.capacity.reading(5);
  assertEquals(reading?.limit, 52);
  assertEquals([...reading?.baselinesMs ?? []], [[8_192, 50]]);
  assertEquals(reading?.lastCause, "slow_first_byte");
  assertEquals(reading?.lastChange, "cut");
  assertEquals(reading?.counts.get("limit_reached"), 2);
  assertEquals(reading?.counts.get("slow_first_byte"), 1);
  const causes = Object.keys(CAPACITY_CHANGES);
  assertEquals([...reading?.counts.keys() ?? []].sort(), causes.sort());
});

test("two fresh readings in a row by which requests wait lower the limit", () => {
  type Step = [afterMs: number, gauges: Partial<CapacityGauges>];
  const busy = { running: 32, waiting: 3 };
  const rows: [steps: Step[], limit: number][] = [
    [[[0, busy]], 64],
    [[[0, busy], [10_000, busy]], 64],
    [[[0, busy], [2_000, { running: 32 }], [2_000, busy]], 64],
    [[[0, busy], [100, { ...busy, waiting: undefined }], [100, busy]], 64],
    [[[0, busy], [100, { ...busy, running: undefined }]], 64],
    [[[0, busy], [100, { ...busy, running: NaN }]], 64],
    [[[0, busy], [100, { ...busy, waiting: NaN }]], 64],
    [[[0, busy], [100, { ...busy, running: 500 }]], 64],
    [[[0, busy], [9_999, busy]], 36],
    [[[0, busy], [100, { ...busy, running: 0 }]], 8],
    [[[0, busy], [100, busy], [100, { running: 16, waiting: 1 }]], 20],
  ];
  for (const [steps, limit] of rows) {
    const learner = new Learner();
    const causes = steps.map((step) => learner.gauge(...step));
    const isCut = causes.includes("engine_queue");
    assertEquals(learner.limit, limit, JSON.stringify(steps));
    assertEquals(isCut, limit < 64);
    const counts = learner.capacity.reading(5)?.counts;
    assertEquals((counts?.get("engine_queue") ?? 0) > 0, isCut);
  }
});

test("a cache that is nearly full stops the limit while that is fresh", () => {
  const rows: [cacheUsage: number | undefined, afterMs: number, is: boolean][] =
    [
      [0.96, 0, true],
      [0.96, 9_000, true],
      [0.96, 10_000, false],
      [0.95, 0, false],
      [undefined, 0, false],
      [NaN, 0, false],
    ];
  for (const [cacheUsage, afterMs, isHeld] of rows) {
    const learner = new Learner();
    assertEquals(learner.gauge(0, { cacheUsage }), undefined);
    learner.nowMs += afterMs;
    const cause = learner.round(50);
    assertEquals(cause, isHeld ? "cache_full" : "limit_reached");
    learner.nowMs += 10_000;
    assertEquals(learner.round(900), "slow_first_byte", "it may still fall");
  }
  const learner = new Learner();
  learner.gauge(0, { cacheUsage: 0.99 });
  learner.gauge(100, { cacheUsage: 0.5 });
  assertEquals(learner.round(50), "limit_reached");
});

test("whole answers count while the engine says that it is at ease", () => {
  type Row = [gauges: Partial<CapacityGauges>, afterMs: number, is: boolean];
  const rows: Row[] = [
    [{}, 0, true],
    [{ cacheUsage: undefined }, 0, true],
    [{ cacheUsage: 0.95 }, 9_999, true],
    [{}, 10_000, false],
    [{ waiting: 1 }, 0, false],
    [{ waiting: NaN }, 0, false],
    [{ waiting: undefined }, 0, false],
    [{ cacheUsage: 0.96 }, 0, false],
  ];
  for (const [gauges, afterMs, isCounted] of rows) {
    const learner = new Learner();
    learner.gauge(0, gauges);
    const nowMs = learner.nowMs + afterMs;
    const causes = Array.from(
      { length: 100 },
      () =>
        learner.capacity.answered(5, {
          ...WHOLE,
          firstByteMs: 60_000,
          inFlightAtStart: 100,
          nowMs,
        }),
    ).filter((cause) => cause !== undefined);
    const expected = isCounted ? ["limit_reached"] : [];
    assertEquals(causes, expected, JSON.stringify([gauges, afterMs]));
    assertEquals(learner.limit, isCounted ? 65 : 64);
    // They are no measure of how soon a stream begins.
    assertEquals(learner.capacity.reading(5)?.baselinesMs.size, 0);
  }
});

test("slow answers lower no limit while the engine says that none waits", () => {
  const rows: [gauges: Partial<CapacityGauges>, isHeld: boolean][] = [
    [{}, true],
    [{ waiting: 1 }, false],
    [{ waiting: undefined }, false],
  ];
  for (const [gauges, isHeld] of rows) {
    const learner = new Learner();
    learner.round(50);
    learner.gauge(0, gauges);
    const cause = learner.round(900);
    assertEquals(cause, isHeld ? "no_engine_queue" : "slow_first_byte");
    assertEquals(learner.limit, isHeld ? 65 : 52);
  }
});

test("a limit far above the load is cut from there, but from 64 at least", () => {
  const rows: [inFlight: number, limit: number][] = [
    [8, 8_192],
    [9, 51],
    [64, 51],
    [100, 80],
    [9_000, 6_553],
  ];
  for (const [inFlight, limit] of rows) {
    const learner = new Learner(LEARNED_LIMIT.initial);
    learner.round(50, inFlight);
    learner.round(900, inFlight);
    assertEquals(learner.limit, limit, `${inFlight}`);
  }
});

test("cuts that change nothing end once half of the load is gone", () => {
  const learner = new Learner(100);
  learner.round(50, 50);
  const cuts = [learner.round(900), learner.round(900), learner.round(900)];
  assertEquals(cuts, Array.from({ length: 3 }, () => "slow_first_byte"));
  assertEquals(learner.limit, 51);
  assertEquals(learner.round(700), "slow_first_byte");
  assertEquals(learner.limit, 40);
  assertEquals(learner.round(700), "cut_in_vain");
  assertEquals(learner.limit, 40);
  assertEquals([...learner.capacity.reading(5)?.baselinesMs ?? []], [
    [8_192, 700],
  ]);
  assertEquals(learner.round(900), "limit_reached");
});

test("cuts that help go on", () => {
  const learner = new Learner(100);
  learner.round(50, 50);
  for (const firstByteMs of [900, 900, 900, 900, 650, 600, 550, 450, 300]) {
    assertEquals(learner.round(firstByteMs), "slow_first_byte");
  }
  assert(learner.limit < 20, `${learner.limit}`);
});

test("fault 3: when capacity falls, nothing more is dispatched", () => {
  const learner = new Learner(100);
  learner.round(50, 50);
  assertEquals(learner.take(), 100);
  assertEquals(learner.round(5_000), "slow_first_byte");
  assertEquals(learner.limit, 80);
  // Ten passes in which a smoothed capacity would dispatch 217 more.
  let dispatched = 0;
  for (let pass = 0; pass < 10; pass++) {
    dispatched += learner.take();
    learner.round(5_000 * 0.75 ** pass);
  }
  assertEquals(dispatched, 0);
  // What is in flight beyond the limit has to end first.
  const { endpoints, limit } = learner;
  assertEquals(limit, LEARNED_LIMIT.min);
  while (endpoints.inFlight(5) > limit) endpoints.release(5);
  assertEquals(learner.take(), 0);
  endpoints.release(5);
  assertEquals(learner.take(), 1);
});

test("fault 4: a pass hands out each place once, whatever gauges lag", () => {
  const learner = new Learner(100);
  let dispatched = 0;
  for (let pass = 0; pass < 20; pass++) {
    learner.gauge(5, { running: 0, waiting: 0 });
    dispatched += learner.take();
  }
  assertEquals(dispatched, 100);
});

test("fault 5: what is running raises no limit, and no limit is zero", () => {
  for (const running of [0, 1, 100, 1e9]) {
    for (const waiting of [0, 1, 1e9]) {
      for (const cacheUsage of [0.01, 1, 1e9]) {
        const learner = new Learner();
        for (let count = 0; count < 20; count++) {
          learner.gauge(1_000, { running, waiting, cacheUsage });
        }
        assert(learner.limit <= 64 && learner.limit >= LEARNED_LIMIT.min);
        assertEquals(learner.take(), learner.limit);
      }
    }
  }
});

test("fault 6: the first requests after the start do not wait to be measured", () => {
  const learner = new Learner(LEARNED_LIMIT.initial);
  assertEquals(learner.take(), LEARNED_LIMIT.initial);
});

test("whatever comes, a limit stays within bounds and rises by one a round", () => {
  const time = fc.oneof(
    fc.integer({ min: 0, max: 400 }),
    fc.double({ min: -10, max: 1e9 }),
  );
  const gauge = fc.option(
    fc.oneof(fc.nat(2_000), fc.double()),
    { nil: undefined },
  );
  const step = fc.oneof(
    fc.record({
      firstByteMs: time,
      inFlightAtStart: fc.nat(1_200),
      kind: fc.constantFrom("stream" as const, "whole" as const),
      requestBytes: fc.constantFrom(undefined, 0, 3_000, 1e9),
    }),
    fc.record({ running: gauge, waiting: gauge, cacheUsage: gauge }),
  );
  const item = fc.record({ step, times: fc.nat(80), afterMs: fc.nat(90_000) });
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 60, size: "max" }),
      fc.integer({ min: LEARNED_LIMIT.min, max: LEARNED_LIMIT.max }),
      (items, initial) => {
        const { endpoints, capacity } = new Learner(initial);
        let nowMs = START_MS;
        for (const { step, times, afterMs } of items) {
          nowMs += afterMs;
          for (let count = 0; count < times; count++) {
            const before = endpoints.limit(5);
            const isAnswer = "firstByteMs" in step;
            const cause = isAnswer
              ? capacity.answered(5, { ...step, nowMs })
              : capacity.gauged(5, { ...step, nowMs });
            const after = endpoints.limit(5);
            const change = cause && CAPACITY_CHANGES[cause];
            if (change === "raised") assertEquals(after, before + 1);
            else if (change === "cut") assert(after < before);
            else assertEquals(after, before);
            assert(isAnswer || change !== "raised");
            assert(after >= LEARNED_LIMIT.min && after <= LEARNED_LIMIT.max);
          }
        }
      },
    ),
  );
});
