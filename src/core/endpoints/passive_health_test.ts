/**
 * What traffic says about endpoints.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { EndpointTable } from "./endpoint_table.ts";
import { ERROR_TABLE, type ErrorCode } from "../error.ts";
import { FAILURE_KINDS } from "./failure_kind.ts";
import { PassiveHealth } from "./passive_health.ts";

const NOW_MS = 1_764_000_000_000;

/** Slots 0 to `count` - 1 are ready and are ejected by the third failure. */
function ready(count: number): { table: EndpointTable; health: PassiveHealth } {
  const table = new EndpointTable();
  for (let slot = 0; slot < count; slot++) {
    table.setState(slot, "ready");
    table.setFailuresMax(slot, 3);
  }
  return { table, health: new PassiveHealth(table) };
}

function fail(health: PassiveHealth, code: ErrorCode = "upstream_reset") {
  return health.failed(0, NOW_MS, { code });
}

test("the third failure in a row ejects, at once and for all threads (PS #420)", () => {
  const { table, health } = ready(2);
  const other = new PassiveHealth(new EndpointTable(table.buffer));
  assertEquals(fail(health, "upstream_unreachable"), "counted");
  assertEquals(fail(other, "upstream_reset"), "counted");
  assertEquals(table.state(0), "ready");
  assertEquals(fail(health, "upstream_idle_timeout"), "ejected");
  assertEquals(table.state(0), "ejected");
  assertEquals(fail(other), "counted");
});

test("only connect failures, resets and timeouts count as failures", () => {
  const kinds = new Set<string>(FAILURE_KINDS);
  for (const code of Object.keys(ERROR_TABLE) as ErrorCode[]) {
    const { table, health } = ready(2);
    const expected = kinds.has(code) ? "counted" : "neutral";
    assertEquals(fail(health, code), expected, code);
    assertEquals(table.failures(0), kinds.has(code) ? 1 : 0, code);
  }
  const { health } = ready(2);
  assertEquals(health.failed(0, NOW_MS), "counted");
});

test("answered() takes 4xx and 5xx as neither failure nor success (F7 sglang #25811, F8 smg #2565)", () => {
  const rows: [status: number, effect: string, failuresLeft: number][] = [
    [500, "neutral", 2],
    [502, "neutral", 2],
    [504, "neutral", 2],
    [400, "neutral", 2],
    [404, "neutral", 2],
    [428, "neutral", 2],
    [499, "neutral", 2],
    [429, "busy", 2],
    [503, "busy", 2],
    [399, "answered", 0],
    [304, "answered", 0],
    [204, "answered", 0],
    [200, "answered", 0],
    [101, "answered", 0],
  ];
  for (const [status, effect, failuresLeft] of rows) {
    const { table, health } = ready(2);
    fail(health);
    fail(health);
    const actual = health.answered(0, status, undefined, NOW_MS);
    assertEquals([status, actual], [status, effect]);
    assertEquals([status, table.failures(0)], [status, failuresLeft]);
    assertEquals(table.answeredAtMs(0), NOW_MS);
    assertEquals(table.isBusy(0, NOW_MS), false);
  }
});

test("10 x 400 eject nothing, and 400 between failures saves nothing (F7, F8)", () => {
  const { table, health } = ready(2);
  for (let i = 0; i < 10; i++) health.answered(0, 400, undefined, NOW_MS);
  assertEquals(table.state(0), "ready");
  fail(health);
  health.answered(0, 400, undefined, NOW_MS);
  fail(health);
  health.answered(0, 500, undefined, NOW_MS);
  assertEquals(fail(health), "ejected");
});

test("429 and 503 with Retry-After make busy, for a minute at most", () => {
  const rows: [status: number, retryAfterS: number | undefined, s: number][] = [
    [500, 5, 0],
    [400, 5, 0],
    [200, 5, 0],
    [503, undefined, 0],
    [503, 0, 0],
    [503, -1, 0],
    [503, 1, 1],
    [429, 59, 59],
    [429, 60, 60],
    [429, 61, 60],
    [503, 999_999, 60],
  ];
  for (const [status, retryAfterS, seconds] of rows) {
    const { table, health } = ready(2);
    health.answered(0, status, retryAfterS, NOW_MS);
    const name = `${status} ${retryAfterS}`;
    const endMs = NOW_MS + seconds * 1_000;
    assertEquals(table.isBusy(0, endMs - 1), seconds > 0, name);
    assertEquals(table.isBusy(0, endMs), false, name);
    assertEquals(table.state(0), "ready");
    assertEquals(table.failures(0), 0);
  }
});

test("the last ready endpoint is kept, and ejected once there is another", () => {
  const { table, health } = ready(1);
  for (let i = 0; i < 2; i++) fail(health);
  for (let i = 0; i < 5; i++) assertEquals(fail(health), "kept");
  assertEquals(table.state(0), "ready");
  table.setState(1, "ready");
  assertEquals(fail(health), "ejected");
});

test("the last eligible endpoint of a pool is kept among others", () => {
  const { table, health } = ready(3);
  const pool = (slots: readonly number[]) => ({
    count: slots.length,
    slot: (index: number) => slots[index] ?? -1,
    isEligible: (index: number) => table.state(slots[index] ?? -1) === "ready",
  });
  const code = "upstream_reset";
  for (let i = 0; i < 2; i++) fail(health);
  assertEquals(health.failed(0, NOW_MS, { code, pool: pool([0]) }), "kept");
  table.setState(1, "draining");
  assertEquals(health.failed(0, NOW_MS, { code, pool: pool([0, 1]) }), "kept");
  const wide = pool([0, 1, 2]);
  assertEquals(health.failed(0, NOW_MS, { code, pool: wide }), "ejected");
});

test("an endpoint without a limit of failures is never ejected by them", () => {
  const { table, health } = ready(2);
  table.setFailuresMax(0, 0);
  for (let i = 0; i < 100; i++) assertEquals(fail(health), "counted");
  assertEquals(table.state(0), "ready");
});

test("whatever traffic shows, only a row of failures ejects", () => {
  const event = fc.constantFrom(
    "failed",
    "refused",
    200,
    301,
    400,
    429,
    500,
    503,
  );
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 30, size: "max" }),
      fc.integer({ min: 1, max: 5 }),
      (events, max) => {
        const { table, health } = ready(2);
        table.setFailuresMax(0, max);
        let row = 0;
        let wasEjected = false;
        for (const event of events) {
          if (typeof event === "number") {
            health.answered(0, event, 1, NOW_MS);
            if (event < 400) row = 0;
          } else {
            fail(
              health,
              event === "failed" ? "upstream_reset" : "upstream_unreachable",
            );
            row++;
          }
          wasEjected ||= row >= max;
          assertEquals(table.state(0), wasEjected ? "ejected" : "ready");
        }
      },
    ),
  );
});
