/**
 * The ledger: what a worker that dies leaves is given back, once.
 *
 * Invariant: a thread's death is played by making a second view and never
 * using the first again.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { EndpointTable } from "../endpoints/endpoint_table.ts";
import { Ledger } from "./ledger.ts";
import { SessionTable } from "../sessions/session_table.ts";

function newSessions(): SessionTable {
  return SessionTable.create({ capacity: 64, idleTtlMs: 1_000, epochMs: 0 });
}

test("open() gives -1 when the ledger is full", () => {
  const ledger = Ledger.create(2);
  const first = ledger.open(-1, 0);
  assert(ledger.open(3, 0) >= 0);
  assert(ledger.isFull);
  assertEquals(ledger.open(4, 0), -1);
  ledger.close(first);
  assertEquals(ledger.openCount, 1);
  assertEquals(ledger.open(4, 0), first);
});

test("close() twice frees an entry once", () => {
  const ledger = Ledger.create(2);
  const entry = ledger.open(0, 0);
  ledger.close(entry);
  ledger.close(entry);
  assertEquals(ledger.openCount, 0);
  assert(ledger.open(1, 0) !== ledger.open(2, 0));
  assert(ledger.isFull);
});

test("the default ledger holds 16,384 requests", () => {
  assertEquals(new Ledger().buffer.byteLength, 16_384 * 8);
});

test("AB #646, vllm-project/router #215: a dead worker's counts are given back once", () => {
  const sessions = newSessions();
  const endpoints = new EndpointTable();
  const ledger = Ledger.create(8);
  const record = sessions.pin({ a: 1, b: 2 }, 0);
  const others = sessions.pin({ a: 1, b: 2 }, 0);
  assertEquals(others, record);
  for (const [held, slot] of [[record, 4], [-1, 4], [-1, 9]] as const) {
    endpoints.tryReserve(slot);
    ledger.open(held, slot);
  }
  const kept = endpoints.tryReserve(4);
  const found = new Ledger(ledger.buffer);
  assertEquals(found.openCount, 3);
  assertEquals(found.reclaim(sessions, endpoints, 0), {
    sessions: 1,
    places: 3,
  });
  assertEquals(found.reclaim(sessions, endpoints, 0), {
    sessions: 0,
    places: 0,
  });
  assert(kept);
  assertEquals(endpoints.inFlight(4), 1);
  assertEquals(endpoints.inFlight(9), 0);
  assertEquals(sessions.pins(record), 1);
});

test("a death between two steps of settling never unpins twice", () => {
  const sessions = newSessions();
  const endpoints = new EndpointTable();
  const ledger = Ledger.create(8);
  const record = sessions.pin({ a: 1, b: 2 }, 0);
  sessions.pin({ a: 1, b: 2 }, 0);
  endpoints.tryReserve(0);
  const entry = ledger.open(record, 0);
  ledger.strikeSession(entry);
  sessions.unpin(record, 0);
  new Ledger(ledger.buffer).reclaim(sessions, endpoints, 0);
  assertEquals(sessions.pins(record), 1);
  assertEquals(endpoints.inFlight(0), 0);
});

test("after any run of requests and a death, only the living hold anything", () => {
  const act = fc.record({
    worker: fc.nat(1),
    isEnd: fc.boolean(),
    key: fc.nat(5),
    slot: fc.nat(3),
  });
  fc.assert(
    fc.property(fc.array(act, { maxLength: 60, size: "max" }), (acts) => {
      const sessions = newSessions();
      const endpoints = new EndpointTable();
      const ledgers = [Ledger.create(64), Ledger.create(64)];
      const held: { entry: number; record: number; slot: number }[][] = [
        [],
        [],
      ];
      for (const { worker, isEnd, key, slot } of acts) {
        const ledger = ledgers[worker];
        const own = held[worker];
        assert(ledger !== undefined && own !== undefined);
        const done = isEnd ? own.pop() : undefined;
        if (done !== undefined) {
          ledger.strikeSession(done.entry);
          sessions.unpin(done.record, 0);
          endpoints.release(done.slot);
          ledger.close(done.entry);
        } else {
          const record = sessions.pin({ a: key, b: key }, 0);
          endpoints.tryReserve(slot);
          own.push({ entry: ledger.open(record, slot), record, slot });
        }
      }
      ledgers[0]?.reclaim(sessions, endpoints, 0);
      const living = held[1] ?? [];
      for (let slot = 0; slot < 4; slot++) {
        const expected = living.filter((one) => one.slot === slot).length;
        assertEquals(endpoints.inFlight(slot), expected);
      }
      for (let record = 0; record < 64; record++) {
        const expected = living.filter((one) => one.record === record).length;
        assertEquals(sessions.pins(record), expected);
      }
    }),
  );
});
