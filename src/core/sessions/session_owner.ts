/**
 * What the one thread that owns a record of the session table does to it.
 *
 * Invariant: the caller has taken `pins` from 0 to -1, so that no other thread
 * writes the record, and `disown` is its last step unless it puts a hold there.
 *
 * @module
 */
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";

/** The word of a record's tag A; tag B is `bucketRecords` further. */
export function tagOf(record: number): number {
  return LAYOUT.headerWords + (record >> 3) * LAYOUT.bucketWords + (record & 7);
}

/**
 * Lets go of a record: one that is to be found stays idle, one without tag A
 * becomes free. A claim that was never published has not been counted yet.
 */
export function disown(words: Int32Array, record: number): void {
  const tagA = tagOf(record);
  if (
    Atomics.load(words, tagA) === 0 &&
    Atomics.exchange(words, tagA + LAYOUT.bucketRecords, 0) !== 0
  ) {
    Atomics.sub(words, LAYOUT.occupied, 1);
  }
  Atomics.store(words, fieldsOf(record) + FIELD.pins, 0);
}

/** Makes the fields at `at` those of a session without past. */
export function startAnew(words: Int32Array, at: number): void {
  for (let field = 0; field < 8; field++) {
    // Ownership stands in `pins` until the last step.
    if (field !== FIELD.pins) Atomics.store(words, at + field, 0);
  }
}
