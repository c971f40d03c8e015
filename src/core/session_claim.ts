/**
 * How threads take and give back the records of the session table: the
 * lock-free part of it.
 *
 * A new session is claimed in three steps, after the bakery of Lamport (1974):
 * own a record (`pins` 0 to -1), announce the claim (tag A, with tag B still
 * 0), and look at the other seven. Two threads that claim for one key cannot
 * both find nothing, as each announces before it looks. Who sees the key
 * published gives its claim up; between two claims the lower record waits and
 * the higher one gives up. Then tag B publishes the session.
 *
 * The owner of a claim may be preempted, or gone. Nobody waits for it longer
 * than `SPINS_MAX` looks: the request then goes on untracked, with record -1.
 *
 * Invariant: a key has at most one published record, and a record in flight
 * (`pins` over 0) keeps its key.
 *
 * @module
 */
import type { KeyHash } from "./hash.ts";
import { FIELD, fieldsOf, LAYOUT } from "./session_record.ts";

/**
 * Looks at somebody else's claim before going on untracked: some 100 us, a
 * hundred times what an undisturbed claim takes.
 */
const SPINS_MAX = 2_000;

/** What is found in a bucket, or comes of a claim, besides a lane. */
const ABSENT = -1;
const CONTESTED = -2;

/** Lanes of the hash are never 0 in the table: 0 is a free tag. */
const ZERO_LANE = 1;

/**
 * Takes hold of the session of `key`, at the tick `now`: a known one, or a new
 * one in a free record or in that of the longest idle session.
 *
 * @returns The record, or -1 when the session cannot be tracked.
 */
export function takeRecord(
  words: Int32Array,
  key: KeyHash,
  now: number,
): number {
  const a = key.a | 0 || ZERO_LANE;
  const b = key.b | 0 || ZERO_LANE;
  const first = firstOfBucket(words, a);
  for (let spins = 0; spins < SPINS_MAX; spins++) {
    const lane = search(words, first, a, b);
    if (lane >= 0) {
      if (enter(words, first + lane, { a, b }, now)) return first + lane;
    } else if (lane === ABSENT) {
      const mine = claim(words, first, a, now);
      if (mine === ABSENT) {
        Atomics.add(words, LAYOUT.fullBuckets, 1);
        return -1;
      }
      if (mine >= 0 && publish(words, first + mine, { a, b }, now)) {
        return first + mine;
      }
    }
  }
  return -1;
}

/** Gives back one hold of `record` at the tick `now`; never below none. */
export function giveBack(words: Int32Array, record: number, now: number): void {
  const at = fieldsOf(record);
  Atomics.store(words, at + FIELD.lastUse, now);
  const pinsAt = at + FIELD.pins;
  let pins = Atomics.load(words, pinsAt);
  // Bounded by progress: an exchange fails when another thread's succeeds.
  while (pins > 0) {
    const seen = Atomics.compareExchange(words, pinsAt, pins, pins - 1);
    if (seen === pins) return;
    pins = seen;
  }
}

/** The published record of `key`, or -1, without taking hold of it. */
export function findRecord(words: Int32Array, key: KeyHash): number {
  const a = key.a | 0 || ZERO_LANE;
  const first = firstOfBucket(words, a);
  const lane = search(words, first, a, key.b | 0 || ZERO_LANE);
  return lane < 0 ? -1 : first + lane;
}

/** The first record of the bucket that a hash belongs to. */
function firstOfBucket(words: Int32Array, a: number): number {
  const buckets = Atomics.load(words, LAYOUT.buckets);
  // The high bits of a product with 2^32 as one: any number of buckets will do.
  return Math.floor((a >>> 0) / 0x100000000 * buckets) * LAYOUT.bucketRecords;
}

/** The word of a record's tag A; tag B is `bucketRecords` further. */
function tagOf(record: number): number {
  return LAYOUT.headerWords + (record >> 3) * LAYOUT.bucketWords + (record & 7);
}

/** The lane of a published key, `CONTESTED` when only claimed, or `ABSENT`. */
function search(
  words: Int32Array,
  first: number,
  a: number,
  b: number,
): number {
  const tagA = tagOf(first);
  let result = ABSENT;
  for (let lane = 0; lane < LAYOUT.bucketRecords; lane++) {
    if (Atomics.load(words, tagA + lane) !== a) continue;
    const tagB = Atomics.load(words, tagA + LAYOUT.bucketRecords + lane);
    // Tag A again: the record may have changed hands between the two tags.
    if (tagB === b && Atomics.load(words, tagA + lane) === a) return lane;
    if (tagB === 0) result = CONTESTED;
  }
  return result;
}

/** Takes hold of a published record; false when it is not the key's any more. */
function enter(
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
    if (pins === 0) Atomics.store(words, at + FIELD.pins, 0);
    else Atomics.sub(words, at + FIELD.pins, 1);
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

/**
 * Owns a record of a bucket, free or else the longest idle one, and announces
 * `a` there.
 *
 * @returns Its lane, `CONTESTED` when another thread was faster, or `ABSENT`
 * when every record is in flight.
 */
function claim(
  words: Int32Array,
  first: number,
  a: number,
  now: number,
): number {
  const choice = laneToClaim(words, first, now);
  if (choice < 0) return choice;
  const lane = choice & (LAYOUT.bucketRecords - 1);
  const tagA = tagOf(first + lane);
  const pinsAt = fieldsOf(first + lane) + FIELD.pins;
  if (Atomics.compareExchange(words, pinsAt, 0, -1) !== 0) return CONTESTED;
  // Between the look and the exchange another thread may have published a
  // session here, or used it: then it must not be evicted as idle or as free.
  if (
    choice === lane
      ? Atomics.load(words, tagA) !== 0
      : laneToClaim(words, first, now, lane) !== choice
  ) {
    Atomics.store(words, pinsAt, 0);
    return CONTESTED;
  }
  if (Atomics.exchange(words, tagA + LAYOUT.bucketRecords, 0) !== 0) {
    Atomics.sub(words, LAYOUT.occupied, 1);
    Atomics.add(words, LAYOUT.evictions, 1);
  }
  Atomics.store(words, tagA, a);
  return lane;
}

/**
 * Chooses a record to claim; the lane that is `owned` counts as idle.
 *
 * @returns A free lane, else 8 more than the lane idle for longest, else
 * whether to try again.
 */
function laneToClaim(
  words: Int32Array,
  first: number,
  now: number,
  owned: number = ABSENT,
): number {
  const tagA = tagOf(first);
  let oldest: number = ABSENT;
  let oldestTicks = -1;
  for (let lane = 0; lane < LAYOUT.bucketRecords; lane++) {
    const at = fieldsOf(first + lane);
    const pins = lane === owned ? 0 : Atomics.load(words, at + FIELD.pins);
    if (pins < 0 && oldest === ABSENT) oldest = CONTESTED;
    if (pins !== 0) continue;
    if (Atomics.load(words, tagA + lane) === 0) return lane;
    // Clocks of threads may differ by a tick, so an age may be negative.
    const ticks = Math.max(0, now - Atomics.load(words, at + FIELD.lastUse));
    if (ticks > oldestTicks) {
      oldest = lane + LAYOUT.bucketRecords;
      oldestTicks = ticks;
    }
  }
  return oldest;
}

/** Publishes a claim, or gives it up when another thread has the key. */
function publish(
  words: Int32Array,
  record: number,
  key: KeyHash,
  now: number,
): boolean {
  const at = fieldsOf(record);
  const tagA = tagOf(record);
  for (let spins = 0; spins < SPINS_MAX; spins++) {
    const rival = rivalOf(words, record, key);
    if (rival === CONTESTED) continue;
    if (rival !== ABSENT) break;
    startAnew(words, at);
    Atomics.store(words, at + FIELD.lastUse, now);
    Atomics.store(words, tagA + LAYOUT.bucketRecords, key.b);
    Atomics.add(words, LAYOUT.occupied, 1);
    Atomics.store(words, at + FIELD.pins, 1);
    return true;
  }
  Atomics.store(words, tagA, 0);
  Atomics.store(words, at + FIELD.pins, 0);
  return false;
}

/**
 * Looks once at all other records of a claim's bucket.
 *
 * @returns `ABSENT` when the claim stands alone, `CONTESTED` when it has to
 * wait for a higher one, or the lane that it has to give way to.
 */
function rivalOf(words: Int32Array, record: number, key: KeyHash): number {
  const own = record & 7;
  const tagA = tagOf(record - own);
  let result = ABSENT;
  for (let lane = 0; lane < LAYOUT.bucketRecords; lane++) {
    if (lane === own || Atomics.load(words, tagA + lane) !== key.a) continue;
    const tagB = Atomics.load(words, tagA + LAYOUT.bucketRecords + lane);
    if (tagB === key.b || (tagB === 0 && lane < own)) return lane;
    if (tagB === 0) result = CONTESTED;
  }
  return result;
}

/** Makes the fields those of a session without past; the caller owns them. */
function startAnew(words: Int32Array, at: number): void {
  for (let field = 0; field < 8; field++) {
    // Ownership stands in `pins` until the last step.
    if (field !== FIELD.pins) Atomics.store(words, at + field, 0);
  }
}
