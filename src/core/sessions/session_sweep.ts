/**
 * The walk over the session table that gauges, snapshots and repairs it.
 *
 * It takes one stretch of records at a time, so that the caller decides how
 * long it holds its thread. Expired sessions are freed on the way, which only
 * saves room: a request that comes first judges expiry itself.
 *
 * A thread that is stopped while it owns a record leaves `pins` negative. The
 * first sweep that meets such a record writes the time into `pins`; one that
 * meets the same mark `DEAD_CLAIM_TICKS` later frees the record. A thread that
 * lives finishes within microseconds and overwrites the mark.
 *
 * A session that has been ended is not shown, whoever holds its record still.
 *
 * Invariant: a record in flight, of a call that is queued or running, is never
 * freed or renewed.
 *
 * @module
 */
import { disown, tagOf } from "./session_owner.ts";
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";

/**
 * 5 s: no thread of a process that still works is kept off the processor for
 * that long between two machine instructions.
 */
const DEAD_CLAIM_TICKS = 5_000 / LAYOUT.tickMs;

/**
 * What a sweep shows of a session: one object for all sessions of a sweep,
 * filled with plain words, so that a visitor who ignores them pays little.
 */
export interface SessionView {
  record: number;
  /** The first half of the key's hash (`hash.ts`), as signed 32 bits, not 0. */
  a: number;
  /** The second half of the key's hash, as signed 32 bits, not 0. */
  b: number;
  /** The confirmed binding (`binding.ts`), or 0. */
  bound: number;
  pins: number;
  turns: number;
  /** When it was last taken or given back, in steps of 100 ms. */
  lastUseMs: number;
  /** How long ago that was; 0 when threads' clocks differ. */
  lastUseAgeMs: number;
  /** As `SessionTable` says, in whole milliseconds. */
  criticalPathMs: number;
  attainedMs: number;
  waitedMs: number;
}

/** Which stretch to walk, and when. */
export interface SweepRange {
  readonly from: number;
  readonly count: number;
  readonly nowMs: number;
}

/** What a sweep did. */
export interface SweepReport {
  /** Where the next sweep goes on; 0 after the last record. */
  readonly next: number;
  /** Sessions freed as they had been idle for too long. */
  readonly expired: number;
  /** Records freed as the thread that owned them is gone. */
  readonly repaired: number;
}

/** The memory of a table and its clock. */
export interface SweptTable {
  readonly words: Int32Array;
  readonly capacity: number;
  readonly epochMs: number;
}

/** Walks `range` and shows each live session to `visit`; do not keep it. */
export function sweepSessions(
  table: SweptTable,
  range: SweepRange,
  visit: (session: SessionView) => void,
): SweepReport {
  const { words, capacity, epochMs } = table;
  const now = Math.floor((range.nowMs - epochMs) / LAYOUT.tickMs) | 0;
  const ttl = Atomics.load(words, LAYOUT.idleTtlTicks);
  const end = Math.min(capacity, range.from + range.count);
  const view = newView();
  let expired = 0;
  let repaired = 0;
  for (let record = range.from; record < end; record++) {
    const at = fieldsOf(record);
    const pins = Atomics.load(words, at + FIELD.pins);
    if (pins < 0) {
      if (repairClaim(words, record, now)) repaired++;
    } else if (Atomics.load(words, tagOf(record)) === 0) {
      // Free, as most records of most tables are, or ended.
      continue;
    } else if (pins === 0 && freeExpired(words, record, now - ttl)) {
      expired++;
    } else if (readView(words, record, view)) {
      view.lastUseMs = epochMs +
        Atomics.load(words, at + FIELD.lastUse) * LAYOUT.tickMs;
      view.lastUseAgeMs = Math.max(0, range.nowMs - view.lastUseMs);
      visit(view);
    }
  }
  return { next: end >= capacity ? 0 : end, expired, repaired };
}

/** Frees every idle session; those in flight only lose their binding. */
export function clearSessions(table: SweptTable): void {
  const { words, capacity } = table;
  for (let record = 0; record < capacity; record++) {
    const at = fieldsOf(record);
    if (Atomics.compareExchange(words, at + FIELD.pins, 0, -1) === 0) {
      freeRecord(words, record);
      continue;
    }
    Atomics.store(words, at + FIELD.bound, 0);
    Atomics.store(words, at + FIELD.tentative, 0);
  }
}

function newView(): SessionView {
  return {
    record: 0,
    a: 0,
    b: 0,
    bound: 0,
    pins: 0,
    turns: 0,
    lastUseMs: 0,
    lastUseAgeMs: 0,
    criticalPathMs: 0,
    attainedMs: 0,
    waitedMs: 0,
  };
}

/** Frees a record whose owner has been gone since an earlier sweep. */
function repairClaim(words: Int32Array, record: number, now: number): boolean {
  const pinsAt = fieldsOf(record) + FIELD.pins;
  const pins = Atomics.load(words, pinsAt);
  if (pins === -1) {
    // -1 itself is no mark: marks start at -2.
    Atomics.compareExchange(words, pinsAt, -1, -2 - now);
    return false;
  }
  if (pins >= 0 || now - (-2 - pins) < DEAD_CLAIM_TICKS) return false;
  if (Atomics.compareExchange(words, pinsAt, pins, -1) !== pins) return false;
  freeRecord(words, record);
  Atomics.add(words, LAYOUT.repairs, 1);
  return true;
}

/**
 * Frees an idle record that was last used at the tick `expired` or before;
 * false when it was not.
 */
function freeExpired(
  words: Int32Array,
  record: number,
  expired: number,
): boolean {
  const at = fieldsOf(record);
  if (Atomics.load(words, at + FIELD.lastUse) > expired) return false;
  if (Atomics.compareExchange(words, at + FIELD.pins, 0, -1) !== 0) {
    return false;
  }
  const isExpired = Atomics.load(words, tagOf(record)) !== 0 &&
    Atomics.load(words, at + FIELD.lastUse) <= expired;
  if (isExpired) freeRecord(words, record);
  else disown(words, record);
  return isExpired;
}

/** Makes an owned record free, whatever it is. */
function freeRecord(words: Int32Array, record: number): void {
  Atomics.store(words, tagOf(record), 0);
  disown(words, record);
}

/** Reads a published record; false when it is none or changed meanwhile. */
function readView(
  words: Int32Array,
  record: number,
  view: SessionView,
): boolean {
  const at = fieldsOf(record);
  const aAt = tagOf(record);
  const bAt = aAt + LAYOUT.bucketRecords;
  view.record = record;
  view.a = Atomics.load(words, aAt);
  view.b = Atomics.load(words, bAt);
  if (view.a === 0 || view.b === 0) return false;
  view.bound = Atomics.load(words, at + FIELD.bound);
  view.turns = Atomics.load(words, at + FIELD.turns);
  view.pins = Atomics.load(words, at + FIELD.pins);
  view.criticalPathMs = Atomics.load(words, at + FIELD.criticalPath);
  view.attainedMs = Atomics.load(words, at + FIELD.attainedService);
  view.waitedMs = Atomics.load(words, at + FIELD.waited);
  return Atomics.load(words, aAt) === view.a &&
    Atomics.load(words, bAt) === view.b;
}
