/**
 * Who knows the hash of session keys cannot aim at the sessions of others.
 *
 * Nobody can keep a client from using as many session keys as its limits let
 * it, and a table that is too small for all of them loses the longest idle
 * ones. What is held here is that keys made for the purpose do no more harm
 * than keys taken by chance.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { hashBytes, type KeyHash } from "../../src/core/hash.ts";
import {
  firstOfBucket,
  type PlaceSecret,
} from "../../src/core/sessions/session_place.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { drawPlaceSecret } from "../../src/system/place_secret.ts";
import { test } from "../leakproof.ts";
import { craftedKey } from "./crafted_keys.ts";

/** The default table. */
const CAPACITY = 1 << 18;
const VICTIM_COUNT = 10_000;
const ATTACK_COUNT = 100_000;

/**
 * The share of others' idle sessions that the attack may evict. By chance it is
 * 2 %: a bucket of 8 has to get at least 8 of 110,000 keys over 32,768 buckets.
 */
const EVICTED_SHARE_MAX = 0.04;

const ME_MS = 2_000;
const VICTIMS_MS = 1_000;
/** Tries for an attacker who looks for keys of known buckets. */
const SEARCH_MAX = 1_000_000;

const encoder = new TextEncoder();

const VICTIMS = Array.from(
  { length: VICTIM_COUNT },
  (_, index) => hashBytes(encoder.encode(`user-${index}`)),
);

function tableOf(secret: PlaceSecret | undefined): SessionTable {
  return SessionTable.create({
    capacity: CAPACITY,
    idleTtlMs: 3_600_000,
    epochMs: 0,
    ...(secret === undefined ? {} : { secret }),
  });
}

/** The share of the victims' sessions that `attack` evicts. */
function evictedShare(
  table: SessionTable,
  attack: Iterable<KeyHash>,
): number {
  for (const victim of VICTIMS) {
    table.unpin(table.pin(victim, VICTIMS_MS), VICTIMS_MS);
  }
  let count = 0;
  for (const key of attack) {
    table.unpin(table.pin(key, ME_MS), ME_MS);
    count += 1;
  }
  assert(count <= ATTACK_COUNT, `${count} keys`);
  const lost = VICTIMS.filter((victim) => table.find(victim) < 0).length;
  return lost / VICTIM_COUNT;
}

/** As many keys as victims have, ten times, each with its victim's lane A. */
function* sameLane(): Generator<KeyHash> {
  for (let number = 0; number < ATTACK_COUNT; number++) {
    const victim = VICTIMS[number % VICTIM_COUNT];
    if (victim !== undefined) yield hashBytes(craftedKey(victim.a, number));
  }
}

/** Keys that a table of this secret has in the victims' buckets. */
function* sameBucket(secret: PlaceSecret): Generator<KeyHash> {
  const words = new Int32Array(tableOf(secret).buffer);
  const wanted = new Map<number, number>();
  for (const victim of VICTIMS) wanted.set(firstOfBucket(words, victim), 9);
  let left = ATTACK_COUNT;
  for (let number = 0; number < SEARCH_MAX && left > 0; number++) {
    const key = hashBytes(encoder.encode(`key-${number}`));
    const bucket = firstOfBucket(words, key);
    const open = wanted.get(bucket) ?? 0;
    if (open === 0) continue;
    wanted.set(bucket, open - 1);
    left -= 1;
    yield key;
  }
}

test("craftedKey() hits the lane it is made for", () => {
  const keys = new Set<string>();
  for (let number = 0; number < 1_000; number++) {
    const { a = 0 } = VICTIMS[number] ?? {};
    const key = craftedKey(a, number);
    keys.add(key.join());
    assertEquals(hashBytes(key).a, a);
  }
  assertEquals(keys.size, 1_000);
});

test("keys of the victims' own lane evict no more than chance does", () => {
  const share = evictedShare(tableOf(drawPlaceSecret()), sameLane());
  assert(share <= EVICTED_SHARE_MAX, `${share}`);
});

test("keys aimed by another secret evict no more than chance does", () => {
  const secret = drawPlaceSecret();
  for (const guess of [{ low: 0, high: 0 }, drawPlaceSecret()]) {
    const share = evictedShare(tableOf(secret), sameBucket(guess));
    assert(share <= EVICTED_SHARE_MAX, `${share}`);
  }
});

test("keys aimed by the table's own secret evict nearly all: it is the secret that helps", () => {
  const secret = { low: 1, high: 2 };
  const share = evictedShare(tableOf(secret), sameBucket(secret));
  assert(share > 0.9, `${share}`);
});

test("a process draws another secret than the one before it", () => {
  assertNotEquals(drawPlaceSecret(), drawPlaceSecret());
});

test("every bit of either lane and of the secret counts for the place", () => {
  const words = new Int32Array(tableOf({ low: 5, high: 6 }).buffer);
  const other = (secret: PlaceSecret) => new Int32Array(tableOf(secret).buffer);
  const key = { a: 1, b: 2 };
  const place = firstOfBucket(words, key);
  for (let bit = 0; bit < 32; bit++) {
    const flip = 1 << bit;
    assertNotEquals(firstOfBucket(words, { a: 1 ^ flip, b: 2 }), place);
    assertNotEquals(firstOfBucket(words, { a: 1, b: 2 ^ flip }), place);
    const low = other({ low: 5 ^ flip, high: 6 });
    assertNotEquals(firstOfBucket(low, key), place);
    const high = other({ low: 5, high: 6 ^ flip });
    assertNotEquals(firstOfBucket(high, key), place);
  }
});
