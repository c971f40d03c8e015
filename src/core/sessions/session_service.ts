/**
 * What the calls of a session have cost it so far, for the scheduler: service
 * on its critical path, service of all calls, and how long calls have waited.
 *
 * A call inherits the critical path and the wait that its session had when the
 * call arrived, and raises both by its own when it is settled. Calls that run
 * side by side inherit the same, so the longest of them counts and not their
 * sum (Autellix, arXiv 2502.13965, ATLAS). Waits follow the same rule: a
 * session that fans out is not taken for one that has starved.
 *
 * Each word is changed by a compare-exchange of its own, the critical path
 * first. A reader between two of them sees a call that counts in one word and
 * not yet in the next. No decision is made for good by that: a level follows
 * from one word, and the ratio of wait to service is taken again whenever the
 * queue is looked at; too much service next to too little wait only makes a
 * promotion come one look later.
 *
 * Invariant: words are whole milliseconds from 0 to `SERVICE_MS_MAX` and never
 * fall while the session lives.
 *
 * @module
 */
import { FIELD, fieldsOf } from "./session_record.ts";

/** 24.8 days: what a signed word holds. Sums that pass it stay there. */
export const SERVICE_MS_MAX = 0x7fffffff;

/** What a settled call adds to its session, in milliseconds. */
export interface CallService {
  /** The session's critical path when the call arrived. */
  readonly inheritedMs: number;
  /** The session's wait when the call arrived. */
  readonly inheritedWaitMs: number;
  /** From the start of its attempt to its end; 0 for a call that failed. */
  readonly serviceMs: number;
  /** How long it was queued. */
  readonly waitMs: number;
}

/**
 * Adds a call to the session of `record`, which the caller holds.
 *
 * Fractions are rounded, each on its own; what is negative or no number counts
 * as 0, as clocks may be set back.
 */
export function addService(
  words: Int32Array,
  record: number,
  call: CallService,
): void {
  const at = fieldsOf(record);
  const serviceMs = wholeMs(call.serviceMs);
  const pathMs = wholeMs(call.inheritedMs) + serviceMs;
  raise(words, at + FIELD.criticalPath, pathMs);
  add(words, at + FIELD.attainedService, serviceMs);
  const waitedMs = wholeMs(call.inheritedWaitMs) + wholeMs(call.waitMs);
  raise(words, at + FIELD.waited, waitedMs);
}

function wholeMs(ms: number): number {
  return ms > 0 ? Math.min(Math.round(ms), SERVICE_MS_MAX) : 0;
}

/** Makes the word at least `value`, as far as it can hold it. */
function raise(words: Int32Array, at: number, value: number): void {
  const wanted = Math.min(value, SERVICE_MS_MAX);
  let seen = Atomics.load(words, at);
  // Bounded by progress: an exchange fails when another thread's succeeds.
  while (seen < wanted) {
    const found = Atomics.compareExchange(words, at, seen, wanted);
    if (found === seen) return;
    seen = found;
  }
}

/** Adds to the word, as far as it can hold the sum. */
function add(words: Int32Array, at: number, amount: number): void {
  let seen = Atomics.load(words, at);
  // Bounded by progress: an exchange fails when another thread's succeeds.
  while (amount > 0 && seen < SERVICE_MS_MAX) {
    const sum = Math.min(seen + amount, SERVICE_MS_MAX);
    const found = Atomics.compareExchange(words, at, seen, sum);
    if (found === seen) return;
    seen = found;
  }
}
