/**
 * The census shows every bound session soon, however large its table is.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { packBinding } from "../core/sessions/binding.ts";
import { finalize32 } from "../core/hash.ts";
import { SessionTable } from "../core/sessions/session_table.ts";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import { SessionCensus } from "./session_census.ts";

const IDLE_MS = 60_000;

/** A table, its census, and a way to have sessions bound to a slot. */
function newCensus(capacity: number) {
  const sessions = SessionTable.create({
    capacity,
    idleTtlMs: IDLE_MS,
    epochMs: 0,
  });
  const clock = new VirtualClock();
  const census = new SessionCensus({ sessions, clock });
  let made = 0;
  const bind = (slot: number, count: number) => {
    for (let session = 0; session < count; session++) {
      made++;
      const key = { a: finalize32(made), b: finalize32(made ^ 0x5bd1e995) };
      const record = sessions.pin(key, clock.nowMs());
      sessions.confirm(record, 0, packBinding(slot, 1));
      sessions.unpin(record, clock.nowMs());
    }
  };
  return { bind, census, clock, sessions };
}

test("the census shows the sessions of a default table at its first step", () => {
  const { bind, census, clock } = newCensus(262_144);
  bind(0, 3);
  bind(7, 500);
  census.start();
  assertEquals([0, 1, 7].map((slot) => census.boundTo(slot)), [3, 0, 500]);
  census.stop();
  assertEquals(clock.timerCount, 0);
});

test("the census of a large table is quick at first and after a jump, and else within 8 s", async () => {
  const { bind, census, clock } = newCensus(2 ** 21);
  // Too few for a jump.
  bind(1, 10);
  census.start();
  assertEquals(census.boundTo(1), 0, "half a walk is not shown");
  await clock.advance(100);
  assertEquals(census.boundTo(1), 10);
  // Nothing has changed: the walk has time, and has just begun.
  await clock.advance(2_000);
  bind(1, 20);
  await clock.advance(8_000);
  assertEquals(census.boundTo(1), 30);
  bind(2, 5_000);
  await clock.advance(500);
  assertEquals([1, 2].map((slot) => census.boundTo(slot)), [30, 5_000]);
  census.stop();
  assertEquals(clock.timerCount, 0);
});

test("the census counts no expired session, and has its record freed", async () => {
  const { bind, census, clock, sessions } = newCensus(1_024);
  bind(3, 10);
  census.start();
  await clock.advance(IDLE_MS - 1_000);
  bind(4, 5);
  assertEquals([3, 4].map((slot) => census.boundTo(slot)), [10, 0]);
  await clock.advance(2_000);
  assertEquals([3, 4].map((slot) => census.boundTo(slot)), [0, 5]);
  assertEquals(sessions.gauges().occupied, 5);
  census.stop();
});
