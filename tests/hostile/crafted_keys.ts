/**
 * Session keys made for a hash that their maker has chosen.
 *
 * The hash of keys is public, and every step of it can be taken back: what a
 * client needs to aim at a lane of somebody else's hash is a page of
 * arithmetic, which is here.
 *
 * Invariant: `craftedKey` gives, for each `number`, another key, and the hash
 * of each has the lane that was asked for.
 *
 * @module
 */

/** What `src/core/hash.ts` multiplies by, and by what that is taken back. */
const M1 = { factor: 0xcc9e2d51, inverse: inverseOf(0xcc9e2d51) };
const M2_INVERSE = inverseOf(0x1b873593);
const M2 = 0x1b873593;
const FINAL_1_INVERSE = inverseOf(0x85ebca6b);
const FINAL_2_INVERSE = inverseOf(0xc2b2ae35);
const STEP_INVERSE = inverseOf(5);
const STEP = 0xe6546b64;
const LANE_A_SEED = 0x6a09e667;
const KEY_BYTES = 8;

/** A key of 8 bytes whose first lane is `a`. */
export function craftedKey(a: number, number: number): Uint8Array {
  const bytes = new Uint8Array(KEY_BYTES);
  const view = new DataView(bytes.buffer);
  // Never a blank key, which would be no key.
  const first = (number + 1) | 0;
  const before = round(LANE_A_SEED, first);
  const after = unfinalized(a) ^ KEY_BYTES;
  view.setInt32(0, first, true);
  view.setInt32(4, wordBetween(before, after), true);
  return bytes;
}

/** One round of lane A over `word`. */
function round(h: number, word: number): number {
  const k = rotated(Math.imul(word, M1.factor), 15);
  return (Math.imul(rotated(h ^ Math.imul(k, M2), 13), 5) + STEP) | 0;
}

/** The word that takes lane A from `before` to `after`. */
function wordBetween(before: number, after: number): number {
  const mixed = rotated(Math.imul(after - STEP, STEP_INVERSE), 32 - 13);
  const k = Math.imul(mixed ^ before, M2_INVERSE);
  return Math.imul(rotated(k, 32 - 15), M1.inverse);
}

/** The word whose finalizer gives `word`. */
function unfinalized(word: number): number {
  let h = unshifted(word, 16);
  h = unshifted(Math.imul(h, FINAL_2_INVERSE), 13);
  return unshifted(Math.imul(h, FINAL_1_INVERSE), 16);
}

/** Takes back `h ^ (h >>> bits)`, where `bits` is over a third of a word. */
function unshifted(word: number, bits: number): number {
  const half = word ^ (word >>> bits);
  return 2 * bits >= 32 ? half : half ^ (word >>> (2 * bits));
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/** The inverse of an odd factor modulo 2^32, by Newton's steps. */
function inverseOf(factor: number): number {
  let inverse = factor;
  for (let bits = 3; bits < 32; bits *= 2) {
    inverse = Math.imul(inverse, 2 - Math.imul(factor, inverse));
  }
  return inverse;
}
