/**
 * Which bucket of the session table a key's hash belongs to.
 *
 * The hash of keys is public and easy to invert, as gateways that do not talk
 * must agree on it: anybody can make up keys whose hashes share a lane, or
 * both. If it chose the bucket too, a client could fill the buckets of its
 * choice and evict the idle sessions there: those of one victim whose key it
 * guesses, with 8 requests, or a third of all with a fifth of the requests that
 * chance needs. So the bucket is drawn with a secret of the gateway, which all
 * of its threads share and nobody else knows or needs: ranking
 * (`rendezvous.ts`) and the tags of records stay on the public hash.
 *
 * The function is HalfSipHash-1-3 (Aumasson and Bernstein, SipHash, 2012; the
 * half-width variant of 2016) over the two lanes: made for tables of hostile
 * keys, and nothing but 32-bit arithmetic. It takes both lanes, so that keys of
 * one lane are as far apart as any, whatever the secret is.
 *
 * A snapshot holds the secret, in a file that its owner alone may read: drawn
 * anew at each start, it would put the same sessions into other buckets, where
 * some would have to give way although there was room for all of them.
 *
 * Invariant: within one table equal hashes have equal buckets.
 *
 * @module
 */
import type { KeyHash } from "../hash.ts";
import { LAYOUT } from "./session_record.ts";

/** A secret of 64 bits, as two words of any 32 bits each. */
export interface PlaceSecret {
  readonly low: number;
  readonly high: number;
}

/** `tedb` and `lyge`: HalfSipHash starts from the words of SipHash's text. */
const START_V2 = 0x6c796765;
const START_V3 = 0x74656462;

/** The last block says how long the message was: 8 bytes. */
const LENGTH_BLOCK = 8 << 24;

/** The secret of the table of `words`. */
export function secretOf(words: Int32Array): PlaceSecret {
  return {
    low: Atomics.load(words, LAYOUT.secretLow),
    high: Atomics.load(words, LAYOUT.secretHigh),
  };
}

/** Gives the table of `words` a secret; it MUST be empty and not in use yet. */
export function takeSecret(words: Int32Array, secret: PlaceSecret): void {
  Atomics.store(words, LAYOUT.secretLow, secret.low);
  Atomics.store(words, LAYOUT.secretHigh, secret.high);
}

/** The first record of the bucket of `key` in the table of `words`. */
export function firstOfBucket(words: Int32Array, key: KeyHash): number {
  const buckets = Atomics.load(words, LAYOUT.buckets);
  const draw = placeOf(
    key,
    Atomics.load(words, LAYOUT.secretLow),
    Atomics.load(words, LAYOUT.secretHigh),
  );
  // The high bits of a product with 2^32 as one: any number of buckets will do.
  return Math.floor((draw >>> 0) / 0x100000000 * buckets) *
    LAYOUT.bucketRecords;
}

/** HalfSipHash-1-3 of the lanes of `key`, as 32 bits. */
function placeOf({ a, b }: KeyHash, low: number, high: number): number {
  let v0 = low;
  let v1 = high;
  let v2 = low ^ START_V2;
  let v3 = high ^ START_V3;
  // One round for each of three blocks, then three to finish.
  for (let round = 0; round < 6; round++) {
    const block = round === 0 ? a : round === 1 ? b : LENGTH_BLOCK;
    const isBlock = round < 3;
    if (isBlock) v3 ^= block;
    else if (round === 3) v2 ^= 0xff;
    v0 = (v0 + v1) | 0;
    v1 = rotated(v1, 5) ^ v0;
    v0 = rotated(v0, 16);
    v2 = (v2 + v3) | 0;
    v3 = rotated(v3, 8) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = rotated(v3, 7) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = rotated(v1, 13) ^ v2;
    v2 = rotated(v2, 16);
    if (isBlock) v0 ^= block;
  }
  return v1 ^ v3;
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
