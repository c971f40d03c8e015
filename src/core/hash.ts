/**
 * The hash of session keys and endpoint ids: two independent 32-bit lanes.
 *
 * Each lane mixes four bytes a round and ends in the full 32-bit finalizer of
 * MurmurHash3 (public domain, Austin Appleby), so that keys or ids that differ
 * in one last digit differ in every bit. The lanes have their own seeds and
 * multipliers; together they name a session with 64 bits.
 *
 * Invariant: results never change. Bindings in a snapshot and the agreement of
 * gateways that do not talk to each other rest on them; golden vectors in
 * `hash_test.ts` hold them fixed.
 *
 * @module
 */

/** Start values of the lanes; the fractional digits of sqrt(2) and sqrt(3). */
const LANE_A_SEED = 0x6a09e667;
const LANE_B_SEED = 0xbb67ae85;

/** The hash of a value: two signed 32-bit words. */
export interface KeyHash {
  readonly a: number;
  readonly b: number;
}

/** Spreads every bit of a 32-bit word over all others; a bijection. */
export function finalize32(word: number): number {
  let h = word | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/**
 * Hashes `bytes`; equal bytes and seed, equal hash.
 *
 * @param seed Separates tenants and pools; 0 for plain values.
 */
export function hashBytes(bytes: Uint8Array, seed = 0): KeyHash {
  const end = bytes.length;
  const blocks = end & ~3;
  let a = LANE_A_SEED ^ seed;
  let b = LANE_B_SEED ^ Math.imul(seed, 0x9e3779b1);
  let at = 0;
  for (; at < blocks; at += 4) {
    const word = wordAt(bytes, at, 4);
    a = mix(a, word, 0xcc9e2d51, 0x1b873593);
    b = mix(b, word, 0x239b961b, 0xab0e9789);
  }
  if (at < end) {
    const word = wordAt(bytes, at, end - at);
    a = mix(a, word, 0xcc9e2d51, 0x1b873593);
    b = mix(b, word, 0x239b961b, 0xab0e9789);
  }
  return { a: finalize32(a ^ end), b: finalize32(b ^ Math.imul(end, 5)) };
}

/** Up to four bytes as one little-endian word. */
function wordAt(bytes: Uint8Array, at: number, count: number): number {
  let word = 0;
  for (let i = 0; i < count; i++) word |= (bytes[at + i] ?? 0) << (8 * i);
  return word;
}

/** One round: multiply, rotate, fold in, rotate, step. */
function mix(h: number, word: number, m1: number, m2: number): number {
  let k = Math.imul(word, m1);
  k = (k << 15) | (k >>> 17);
  let r = h ^ Math.imul(k, m2);
  r = (r << 13) | (r >>> 19);
  return (Math.imul(r, 5) + 0xe6546b64) | 0;
}

/** The first 8 hex digits of a hash: all that a log may say of a key. */
export function shortHash(hash: KeyHash): string {
  return (hash.a >>> 0).toString(16).padStart(8, "0");
}
