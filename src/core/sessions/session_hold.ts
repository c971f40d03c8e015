/**
 * How requests hold the records of the session table, give them back, and end
 * a session that is held.
 *
 * A session that its client has ended is forgotten in one step: a holder takes
 * tag A to 0. From then on no search finds the record, so that the next call of
 * the key claims another one, and no claim takes it, as it is held. Calls that
 * hold it go on with a record that only they know. A call that enters in the
 * same moment looks at tag A after it has its hold: it either came before the
 * end or gives its hold back.
 *
 * Who takes `pins` to 0 and finds tag A 0 owns the record once more to take tag
 * B to 0, which is what `occupied` counts. If another thread owns the record by
 * then, that thread does so when it lets go (`session_owner.ts`), as tag A was
 * 0 before. If the thread is stopped in between, the next claim does.
 *
 * Invariant: an ended record is never published again before it was free, and
 * leaves `occupied` exactly once.
 *
 * @module
 */
import type { KeyHash } from "../hash.ts";
import { disown, startAnew, tagOf } from "./session_owner.ts";
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";

/**
 * Takes hold of a published record at the tick `now`; `key` has no lane of 0.
 *
 * @returns False when the record is not the key's any more, or is owned.
 */
export function enter(
  words: Int32Array,
  record: number,
  key: KeyHash,
  now: number,
): boolean {
  const at = fieldsOf(record);
  const pins = Atomics.load(words, at + FIELD.pins);
  if (pins < 0) return false;
  // Out of idleness a record is owned first, so that no parallel call reads
  // a binding that is about to be found expired.
  const next = pins === 0 ? -1 : pins + 1;
  if (Atomics.compareExchange(words, at + FIELD.pins, pins, next) !== pins) {
    return false;
  }
  const tagA = tagOf(record);
  if (
    Atomics.load(words, tagA) !== key.a ||
    Atomics.load(words, tagA + LAYOUT.bucketRecords) !== key.b
  ) {
    if (pins === 0) disown(words, record);
    else leave(words, record);
    return false;
  }
  if (pins > 0) return true;
  const idleTicks = now - Atomics.load(words, at + FIELD.lastUse);
  if (idleTicks >= Atomics.load(words, LAYOUT.idleTtlTicks)) {
    startAnew(words, at);
  } else Atomics.store(words, at + FIELD.tentative, 0);
  Atomics.store(words, at + FIELD.lastUse, now);
  Atomics.store(words, at + FIELD.pins, 1);
  return true;
}

/** Gives back one hold of `record` at the tick `now`; never below none. */
export function giveBack(words: Int32Array, record: number, now: number): void {
  Atomics.store(words, fieldsOf(record) + FIELD.lastUse, now);
  leave(words, record);
}

/**
 * Ends the session of a record that the caller holds: its key is free for a
 * new session at once, the record with its last hold.
 *
 * What is known of the session is forgotten after the key, so that no call
 * which comes now sees half of it. A second end finds nothing to do.
 */
export function endHeld(words: Int32Array, record: number): void {
  Atomics.store(words, tagOf(record), 0);
  startAnew(words, fieldsOf(record));
}

/** Takes a hold away; the last one of an ended record frees it. */
function leave(words: Int32Array, record: number): void {
  const pinsAt = fieldsOf(record) + FIELD.pins;
  let pins = Atomics.load(words, pinsAt);
  // Bounded by progress: an exchange fails when another thread's succeeds.
  while (pins > 0) {
    const seen = Atomics.compareExchange(words, pinsAt, pins, pins - 1);
    if (seen === pins) break;
    pins = seen;
  }
  if (pins !== 1 || Atomics.load(words, tagOf(record)) !== 0) return;
  if (Atomics.compareExchange(words, pinsAt, 0, -1) === 0) {
    disown(words, record);
  }
}
