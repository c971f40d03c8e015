/**
 * The session table when one thread comes between any two steps of another.
 *
 * Threads that hammer a table meet the rarest of these moments seldom. Here
 * every act is stopped before each of its atomic steps in turn, another act
 * is done in full, and the first goes on.
 *
 * Invariant: steps are counted on the real `Atomics`, which is whole again
 * after each run, so the table under test is the one that ships.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { KeyHash } from "../../src/core/hash.ts";
import { tagOf } from "../../src/core/sessions/session_owner.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { test } from "../leakproof.ts";
import { assertAtRest } from "./at_rest.ts";
import { interrupted } from "./between_steps.ts";

const TTL_MS = 1_000;

/** The session that both threads are after, and one that it may give way to. */
const KEY: KeyHash = { a: 1, b: 2 };
const OTHER: KeyHash = { a: 1, b: 3 };

/** Far above the steps of any act; some wait 2,000 looks for a stopped one. */
const STEPS_MAX = 500;

/** What a thread holds. */
interface Hold {
  readonly key: KeyHash;
  readonly record: number;
}

/** Something that a thread does. */
type Act = (table: SessionTable, holds: Hold[]) => void;

function pin(table: SessionTable, holds: Hold[], hold: {
  readonly key: KeyHash;
  readonly nowMs: number;
}): void {
  const record = table.pin(hold.key, hold.nowMs);
  if (record >= 0) holds.push({ key: hold.key, record });
}

function unpin(table: SessionTable, holds: Hold[]): void {
  const hold = holds.pop();
  if (hold !== undefined) table.unpin(hold.record, 0);
}

function end(table: SessionTable, holds: Hold[]): void {
  const hold = holds.at(-1);
  if (hold !== undefined) table.end(hold.record);
}

const ACTS: Readonly<Record<string, Act>> = {
  "pin": (table, holds) => pin(table, holds, { key: KEY, nowMs: 0 }),
  "pin expired": (table, holds) =>
    pin(table, holds, { key: KEY, nowMs: TTL_MS }),
  "pin another": (table, holds) =>
    pin(table, holds, { key: OTHER, nowMs: TTL_MS }),
  "unpin": unpin,
  "end": end,
  "end, unpin": (table, holds) => {
    end(table, holds);
    unpin(table, holds);
  },
  "pin, unpin": (table, holds) => {
    pin(table, holds, { key: KEY, nowMs: 0 });
    unpin(table, holds);
  },
  "pin, end, unpin": (table, holds) => {
    pin(table, holds, { key: KEY, nowMs: 0 });
    end(table, holds);
    unpin(table, holds);
  },
  "end key": (table) => void table.endKey(KEY),
  "sweep": (table) =>
    void table.sweep({ from: 0, count: 8, nowMs: TTL_MS }, () => {}),
  "clear": (table) => table.clear(),
};

/** How a table may be found; each thread holds the session if it says so. */
const STARTS: Readonly<Record<string, (one: Hold[], two: Hold[]) => Act[]>> = {
  "absent": () => [],
  "idle": () => [(table) => table.unpin(table.pin(KEY, 0), 0)],
  "held by one": (one) => [
    (table) => pin(table, one, { key: KEY, nowMs: 0 }),
  ],
  "held by the other": (_, two) => [
    (table) => pin(table, two, { key: KEY, nowMs: 0 }),
  ],
  "held by both": (one, two) => [
    (table) => pin(table, one, { key: KEY, nowMs: 0 }),
    (table) => pin(table, two, { key: KEY, nowMs: 0 }),
  ],
  "ended, held by both": (one, two) => [
    (table) => pin(table, one, { key: KEY, nowMs: 0 }),
    (table) => pin(table, two, { key: KEY, nowMs: 0 }),
    (table) => end(table, one),
  ],
};

/** A table of one bucket in a state to start from. */
function startFrom(
  name: string,
  options: { isFull: boolean; one: Hold[]; two: Hold[] },
): SessionTable {
  const table = SessionTable.create({
    capacity: 8,
    idleTtlMs: TTL_MS,
    epochMs: 0,
  });
  const acts = STARTS[name]?.(options.one, options.two) ?? [];
  for (const act of acts) act(table, []);
  // Younger than the session, so that it is the one to give way.
  for (let a = 2; options.isFull && a < 9; a++) {
    table.unpin(table.pin({ a, b: 9 }, 500), 500);
  }
  return table;
}

/** One run; false when the act has no step `at`. */
function runOnce(
  names: { start: string; isFull: boolean; act: string; other: string },
  at: number,
): boolean {
  const [one, two]: [Hold[], Hold[]] = [[], []];
  const { start, isFull, act, other } = names;
  const table = startFrom(start, { isFull, one, two });
  const isInterrupted = interrupted(
    at,
    () => ACTS[act]?.(table, one),
    () => ACTS[other]?.(table, two),
  );
  if (!isInterrupted) return false;
  const words = new Int32Array(table.buffer);
  for (const { key, record } of [...one, ...two]) {
    assert(table.pins(record) > 0, "a hold is lost");
    // A session that has not been ended is still found by those who hold it.
    if (words[tagOf(record)] !== 0) assertEquals(table.find(key), record);
  }
  for (const { record } of [...one, ...two]) table.unpin(record, 0);
  assertAtRest(table);
  return true;
}

for (const start of Object.keys(STARTS)) {
  test(`a thread between any two steps of another: the session is ${start}`, () => {
    for (const isFull of [false, true]) {
      for (const act of Object.keys(ACTS)) {
        for (const other of Object.keys(ACTS)) {
          const names = { start, isFull, act, other };
          let at = 0;
          try {
            while (at < STEPS_MAX && runOnce(names, at)) at++;
          } catch (error) {
            const text = JSON.stringify({ ...names, at });
            throw new Error(`Cannot interrupt ${text}`, { cause: error });
          }
          assert(at < STEPS_MAX, `${act} has no end`);
        }
      }
    }
  });
}
