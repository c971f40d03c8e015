/**
 * How the two bindings of a session that is held are changed by its parallel
 * calls, on any thread.
 *
 * Invariant: a binding word is replaced in one exchange, so that of calls that
 * disagree exactly one has its way and the others learn it.
 *
 * @module
 */
import { FAILURES } from "./binding.ts";
import { FIELD, fieldsOf } from "./session_record.ts";

/** As `SessionTable.confirm`. */
export function confirmBinding(
  words: Int32Array,
  record: number,
  seen: number,
  word: number,
): boolean {
  const at = fieldsOf(record);
  let bound = Atomics.load(words, at + FIELD.bound);
  // Bounded by progress: an exchange fails when another thread's succeeds.
  while ((bound & ~FAILURES.mask) === seen && bound !== word) {
    const found = Atomics.compareExchange(
      words,
      at + FIELD.bound,
      bound,
      word,
    );
    bound = found === bound ? word : found;
  }
  if (Atomics.load(words, at + FIELD.tentative) !== 0) {
    Atomics.store(words, at + FIELD.tentative, 0);
  }
  return (bound & ~FAILURES.mask) === word;
}

/** As `SessionTable.noteFailure`. */
export function countFailure(
  words: Int32Array,
  record: number,
  word: number,
): boolean {
  const at = fieldsOf(record);
  Atomics.compareExchange(words, at + FIELD.tentative, word, 0);
  let bound = Atomics.load(words, at + FIELD.bound);
  // Bounded by progress: an exchange fails when another thread's succeeds.
  while ((bound & ~FAILURES.mask) === word) {
    const failures = ((bound & FAILURES.mask) >> FAILURES.shift) + 1;
    const isDropped = failures >= FAILURES.max;
    const next = isDropped ? 0 : word | (failures << FAILURES.shift);
    const found = Atomics.compareExchange(
      words,
      at + FIELD.bound,
      bound,
      next,
    );
    if (found === bound) return isDropped;
    bound = found;
  }
  return false;
}
