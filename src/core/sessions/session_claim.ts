/**
 * How threads find the records of the session table and claim new ones: the
 * lock-free part of it, with `session_hold.ts`.
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
 * (`pins` over 0) keeps its key or, once ended, has none.
 *
 * @module
 */
import type { KeyHash } from "../hash.ts";
import { endHeld, enter, giveBack } from "./session_hold.ts";
import { disown, startAnew, tagOf } from "./session_owner.ts";
import { firstOfBucket } from "./session_place.ts";
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
  const first = firstOfBucket(words, { a, b });
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

/** The published record of `key`, or -1, without taking hold of it. */
export function findRecord(words: Int32Array, key: KeyHash): number {
  const a = key.a | 0 || ZERO_LANE;
  const b = key.b | 0 || ZERO_LANE;
  const first = firstOfBucket(words, { a, b });
  const lane = search(words, first, a, b);
  return lane < 0 ? -1 : first + lane;
}

/**
 * Ends the session of `key`: at once when nobody holds it, otherwise as
 * `endHeld` does.
 *
 * @returns Whether there was one. A session that another thread publishes
 * during the look counts as begun after it, and stays.
 */
export function endKey(words: Int32Array, key: KeyHash): boolean {
  const lanes = { a: key.a | 0 || ZERO_LANE, b: key.b | 0 || ZERO_LANE };
  for (let spins = 0; spins < SPINS_MAX; spins++) {
    const record = findRecord(words, key);
    if (record < 0) return false;
    // Any tick will do, as the record is given up before it is idle again: the
    // first one never finds it expired, so that nothing is renewed for this.
    if (enter(words, record, lanes, 0)) {
      endHeld(words, record);
      giveBack(words, record, 0);
      return true;
    }
  }
  return false;
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
    disown(words, first + lane);
    return CONTESTED;
  }
  if (Atomics.exchange(words, tagA + LAYOUT.bucketRecords, 0) !== 0) {
    Atomics.sub(words, LAYOUT.occupied, 1);
    // What was chosen as free is an ended session on its way out.
    if (choice !== lane) Atomics.add(words, LAYOUT.evictions, 1);
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
  disown(words, record);
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
