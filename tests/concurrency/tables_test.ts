/**
 * The shared tables under threads that hammer the same few buckets.
 *
 * Every count is exact, so nothing depends on how threads are scheduled: how
 * many there are and how often they meet only decides how much is found.
 *
 * Invariant: no time is measured, and each thread ends by itself.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import type { KeyHash } from "../../src/core/hash.ts";
import { firstOfBucket } from "../../src/core/sessions/session_place.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { test } from "../leakproof.ts";
import type { HammerReport, HammerTask } from "./hammer_worker.ts";
import { runThreads } from "./threads.ts";

/** Most requests in flight on the endpoint that all threads reserve. */
const LIMIT = 2;

/** Runs the threads to their end and returns what they did. */
async function hammer(
  task: Omit<HammerTask, "gate" | "seed">,
): Promise<HammerReport[]> {
  return await runThreads<HammerTask, HammerReport>("hammer_worker.ts", task);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Tables of `buckets` buckets, and one endpoint with a limit. */
function newTables(buckets: number): {
  sessions: SessionTable;
  endpoints: EndpointTable;
} {
  const sessions = SessionTable.create({
    capacity: 8 * buckets,
    idleTtlMs: 1_000,
    epochMs: 0,
  });
  const endpoints = new EndpointTable();
  endpoints.setLimit(0, LIMIT);
  return { sessions, endpoints };
}

/**
 * So many keys for each bucket, all of which share tag A, so that claims in a
 * bucket wait for claims of others.
 */
function evenKeys(sessions: SessionTable, each: number): KeyHash[] {
  const words = new Int32Array(sessions.buffer);
  const counts = new Map<number, number>();
  const keys: KeyHash[] = [];
  // Ends as buckets are drawn evenly: some ten keys a bucket are passed by.
  for (let b = 1; keys.length < each * sessions.capacity / 8; b++) {
    const key = { a: 1, b };
    const first = firstOfBucket(words, key);
    const count = counts.get(first) ?? 0;
    if (count === each) continue;
    counts.set(first, count + 1);
    keys.push(key);
  }
  return keys;
}

/** How often each published key of a table occurs. */
function recordsByKey(sessions: SessionTable): Map<string, number> {
  const records = new Map<string, number>();
  sessions.sweep({ from: 0, count: sessions.capacity, nowMs: 0 }, (view) => {
    const key = `${view.a},${view.b}`;
    records.set(key, (records.get(key) ?? 0) + 1);
    assertEquals(view.pins, 0, "a hold is left");
  });
  return records;
}

for (const threads of [2, 4]) {
  test(`${threads} threads on one bucket: no turn is lost, no key has two records`, async () => {
    const { sessions, endpoints } = newTables(1);
    // One record for each key, and one for a claim of each thread: nothing
    // need ever be evicted, so turns must add up.
    const keys: KeyHash[] = Array.from(
      { length: 4 },
      (_, index) => ({ a: index + 1, b: 7 }),
    );
    const reports = await hammer({
      sessions: sessions.buffer,
      endpoints: endpoints.buffer,
      threads,
      rounds: 60_000,
      keys,
      inTurn: false,
      held: 2,
    });
    assertEquals(sessions.gauges().evictions, 0);
    keys.forEach((key, index) => {
      const expected = sum(reports.map(({ turns }) => turns[index] ?? 0));
      assertEquals(sessions.turns(sessions.find(key)), expected);
    });
    assertEquals(sum(reports.map(({ doubles }) => doubles)), 0);
    assertEquals(sum(reports.map(({ disagreements }) => disagreements)), 0);
    assertEquals(sum(reports.map(({ overLimit }) => overLimit)), 0);
    assertEquals([...recordsByKey(sessions).values()], keys.map(() => 1));
    assertEquals(endpoints.inFlight(0), 0);
  });

  test(`${threads} threads that evict each other: no key has two records, nothing stays held`, async () => {
    const { sessions, endpoints } = newTables(2);
    // Pairs of keys share tag A, so that claims wait for claims of others.
    const keys: KeyHash[] = Array.from({ length: 40 }, (_, index) => ({
      a: (index >> 1) * 0x0ccccccd + 1,
      b: 1 + (index & 1),
    }));
    const reports = await hammer({
      sessions: sessions.buffer,
      endpoints: endpoints.buffer,
      threads,
      rounds: 60_000,
      keys,
      inTurn: false,
      held: 1,
    });
    assertEquals(sum(reports.map(({ doubles }) => doubles)), 0);
    assertEquals(sum(reports.map(({ disagreements }) => disagreements)), 0);
    assertEquals(sum(reports.map(({ overLimit }) => overLimit)), 0);
    for (const [key, count] of recordsByKey(sessions)) {
      assertEquals(count, 1, key);
    }
    const { occupied, capacity, evictions } = sessions.gauges();
    assertEquals(occupied, capacity);
    assert(evictions > 1_000, `${evictions} evictions are no test`);
    assertEquals(endpoints.inFlight(0), 0);
    const tracked = sum(reports.flatMap(({ turns }) => turns));
    const untracked = sum(reports.map((report) => report.untracked));
    assertEquals(tracked + untracked, threads * 60_000);
  });

  test(`${threads} threads that meet the same new keys: each key gets one record`, async () => {
    const buckets = 4_096;
    const { sessions, endpoints } = newTables(buckets);
    // Half of what fits, evenly: no bucket overflows.
    const keys = evenKeys(sessions, 4);
    const reports = await hammer({
      sessions: sessions.buffer,
      endpoints: endpoints.buffer,
      threads,
      rounds: 4 * keys.length,
      keys,
      inTurn: true,
      held: 3,
    });
    assertEquals(sessions.gauges().evictions, 0);
    const records = recordsByKey(sessions);
    assertEquals(records.size, keys.length);
    for (const [key, count] of records) assertEquals(count, 1, key);
    keys.forEach((key, index) => {
      const expected = sum(reports.map(({ turns }) => turns[index] ?? 0));
      assertEquals(sessions.turns(sessions.find(key)), expected);
    });
    assertEquals(sum(reports.map(({ doubles }) => doubles)), 0);
    assertEquals(sessions.gauges().occupied, keys.length);
  });
}
