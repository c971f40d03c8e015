/**
 * Counting finds what a sweep would show, and leaves the table as it is.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { packBinding } from "./binding.ts";
import { finalize32 } from "../hash.ts";
import { SessionCount } from "./session_count.ts";
import { SessionTable } from "./session_table.ts";

const IDLE_MS = 60_000;

function keyOf(session: number) {
  return { a: finalize32(session), b: finalize32(session ^ 0x5bd1e995) };
}

test("SessionCount counts bound sessions that are in use or not expired", () => {
  const table = SessionTable.create({
    capacity: 1_024,
    idleTtlMs: IDLE_MS,
    epochMs: 0,
  });
  // By slot: bound and idle; bound and in flight; never bound.
  for (let session = 1; session <= 30; session++) {
    const record = table.pin(keyOf(session), 0);
    const slot = session % 3;
    if (slot < 2) table.confirm(record, 0, packBinding(slot, 9));
    if (slot !== 1) table.unpin(record, 0);
  }
  const count = new SessionCount(table.buffer);
  const rows: [nowMs: number, counts: number[]][] = [
    [0, [10, 10, 0]],
    [IDLE_MS - 100, [10, 10, 0]],
    [IDLE_MS, [0, 10, 0]],
    [10 * IDLE_MS, [0, 10, 0]],
  ];
  for (const [nowMs, expected] of rows) {
    for (const stretch of [1, 7, 8, 1_000, 1_024, 5_000]) {
      const counts = new Uint32Array(256);
      let next = 0;
      do {
        next = count.add({ from: next, count: stretch, nowMs }, counts);
      } while (next !== 0);
      assertEquals([...counts.slice(0, 3)], expected, `${nowMs} ${stretch}`);
    }
  }
  assertEquals(table.gauges().occupied, 30);
});
