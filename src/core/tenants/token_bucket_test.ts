/**
 * Buckets give what their limit says, over all who draw from them, and no more
 * in any span of time.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { type BucketLimit, TokenBuckets } from "./token_bucket.ts";

/** A time as clocks have it, in milliseconds since the Unix epoch. */
const NOW_MS = 1_796_000_000_000.25;

const LIMIT: BucketLimit = { perSecond: 10, burst: 3 };

function buckets(): TokenBuckets {
  return TokenBuckets.create(4, NOW_MS);
}

test("TokenBuckets.take() gives a burst, and then as fast as tokens come", () => {
  const one = buckets();
  const rows = [
    { at: 0, isTaken: true, remaining: 2, fullInMs: 100, waitMs: 0 },
    { at: 0, isTaken: true, remaining: 1, fullInMs: 200, waitMs: 0 },
    { at: 0, isTaken: true, remaining: 0, fullInMs: 300, waitMs: 0 },
    { at: 0, isTaken: false, remaining: 0, fullInMs: 300, waitMs: 100 },
    { at: 99, isTaken: false, remaining: 0, fullInMs: 201, waitMs: 1 },
    { at: 100, isTaken: true, remaining: 0, fullInMs: 300, waitMs: 0 },
    { at: 101, isTaken: false, remaining: 0, fullInMs: 299, waitMs: 99 },
    { at: 3_600_000, isTaken: true, remaining: 2, fullInMs: 100, waitMs: 0 },
  ];
  for (const { at, ...expected } of rows) {
    const { fullInMs, isTaken, remaining, waitMs } = one.take(
      1,
      LIMIT,
      NOW_MS + at,
    );
    assertEquals({ isTaken, remaining }, {
      isTaken: expected.isTaken,
      remaining: expected.remaining,
    }, `at ${at}`);
    assertAlmostEquals(fullInMs, expected.fullInMs, 0.001);
    assertAlmostEquals(waitMs, expected.waitMs, 0.001);
  }
});

test("TokenBuckets.take() keeps slots apart and threads together", () => {
  const one = buckets();
  const other = new TokenBuckets(one.buffer);
  const once = { perSecond: 1, burst: 1 };
  assert(one.take(0, once, NOW_MS).isTaken);
  assert(one.take(1, once, NOW_MS).isTaken);
  assert(!other.take(0, once, NOW_MS).isTaken);
  assert(other.take(2, once, NOW_MS).isTaken);
});

test("TokenBuckets.take() lets nobody wait for what a former limit took", () => {
  const one = buckets();
  const slow = { perSecond: 0.001, burst: 1 };
  assert(one.take(0, slow, NOW_MS).isTaken);
  const { isTaken, waitMs } = one.take(0, LIMIT, NOW_MS);
  assertEquals(isTaken, false);
  assertAlmostEquals(waitMs, 100, 0.001);
});

test("TokenBuckets.giveBack() and fill() bring tokens back", () => {
  const one = buckets();
  for (let i = 0; i < LIMIT.burst; i++) one.take(0, LIMIT, NOW_MS);
  one.giveBack(0, LIMIT);
  assert(one.take(0, LIMIT, NOW_MS).isTaken);
  assert(!one.take(0, LIMIT, NOW_MS).isTaken);
  one.fill(0);
  assertEquals(one.take(0, LIMIT, NOW_MS).remaining, LIMIT.burst - 1);
});

test("in no span are more tokens taken than burst and rate allow", () => {
  const limit = fc.record({
    perSecond: fc.double({ min: 0.5, max: 5_000, noNaN: true }),
    burst: fc.integer({ min: 1, max: 20 }),
  });
  const pauses = fc.array(fc.double({ min: 0, max: 50, noNaN: true }), {
    maxLength: 200,
  });
  fc.assert(fc.property(limit, pauses, (limit, pauses) => {
    const one = buckets();
    const taken: number[] = [];
    let nowMs = NOW_MS;
    for (const pauseMs of pauses) {
      nowMs += pauseMs;
      if (one.take(0, limit, nowMs).isTaken) taken.push(nowMs);
    }
    for (let from = 0; from < taken.length; from++) {
      for (let to = from; to < taken.length; to++) {
        const spanS = ((taken[to] ?? 0) - (taken[from] ?? 0)) / 1_000;
        const allowed = limit.burst + spanS * limit.perSecond;
        // Clocks of this time have steps of a quarter of a microsecond.
        assert(
          to - from + 1 <= allowed + 0.01,
          `${to - from + 1} > ${allowed}`,
        );
      }
    }
  }));
});

test("a refused request gets its token after waitMs, and not before", () => {
  const limit = fc.record({
    perSecond: fc.double({ min: 0.5, max: 5_000, noNaN: true }),
    burst: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(fc.property(limit, (limit) => {
    const one = buckets();
    for (let i = 0; i < limit.burst; i++) {
      assert(one.take(0, limit, NOW_MS).isTaken);
    }
    const { isTaken, waitMs } = one.take(0, limit, NOW_MS);
    assertEquals(isTaken, false);
    assert(!one.take(0, limit, NOW_MS + waitMs * 0.9 - 0.001).isTaken);
    assert(one.take(0, limit, NOW_MS + waitMs + 0.001).isTaken);
  }));
});
