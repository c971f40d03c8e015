/**
 * SHA-256 (FIPS 180-4) of short header values.
 *
 * Every request that presents an API key is hashed once. The runtime's own
 * hash makes an object and crosses into native code each time, which takes 1.4
 * to 1.6 us where this takes 0.85 for a key of 51 characters, and leaves
 * nothing to collect (medians on Deno 2.9.6 and 2.7.11 of batches of the steps
 * in `bench/authentication_bench.ts`).
 *
 * Invariant: it is the SHA-256 of the text's latin-1 bytes and allocates
 * nothing; `sha256_test.ts` compares it with the runtime's. What is left in
 * its block after a call is part of no answer.
 *
 * @module
 */

/** Words of a digest. */
export const DIGEST_WORDS = 8;

const BLOCK_BYTES = 64;

/** Where the length begins in the last block, in bytes. */
const LENGTH_AT = 56;

const ROUNDS = 64;

/** Fractional parts of the square roots of the first 8 primes. */
const INITIAL = rootFractions(8, 1 / 2);

/** Fractional parts of the cube roots of the first 64 primes. */
const CONSTANTS = rootFractions(ROUNDS, 1 / 3);

/** The message schedule; one for all, as nothing waits in between. */
const SCHEDULE = new Int32Array(ROUNDS);

/**
 * Writes the digest of `text` into `digest`, eight big-endian words.
 *
 * @param text Of code units up to 255, as header values are; the upper bits
 * of others are ignored.
 */
export function sha256(text: string, digest: Int32Array): void {
  digest.set(INITIAL);
  const { length } = text;
  const end = length + 1 + 8;
  for (let block = 0; block < end; block += BLOCK_BYTES) {
    for (let word = 0; word < 16; word++) {
      const at = block + word * 4;
      SCHEDULE[word] = byteAt(text, at) << 24 | byteAt(text, at + 1) << 16 |
        byteAt(text, at + 2) << 8 | byteAt(text, at + 3);
    }
    if (end - block <= BLOCK_BYTES) {
      // A length below 2^29 bytes, as all texts have, is one word of bits.
      SCHEDULE[LENGTH_AT / 4] = 0;
      SCHEDULE[LENGTH_AT / 4 + 1] = length * 8;
    }
    compress(digest);
  }
}

/** A byte of the padded message without its length. */
function byteAt(text: string, at: number): number {
  if (at < text.length) return text.charCodeAt(at) & 0xff;
  return at === text.length ? 0x80 : 0;
}

/** Folds the block of `SCHEDULE` into the digest (FIPS 180-4, 6.2.2). */
function compress(digest: Int32Array): void {
  const w = SCHEDULE;
  for (let t = 16; t < ROUNDS; t++) {
    const x = w[t - 15] ?? 0;
    const y = w[t - 2] ?? 0;
    const s0 = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ x >>> 3;
    const s1 = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ y >>> 10;
    w[t] = (w[t - 16] ?? 0) + s0 + (w[t - 7] ?? 0) + s1;
  }
  let a = digest[0] ?? 0;
  let b = digest[1] ?? 0;
  let c = digest[2] ?? 0;
  let d = digest[3] ?? 0;
  let e = digest[4] ?? 0;
  let f = digest[5] ?? 0;
  let g = digest[6] ?? 0;
  let h = digest[7] ?? 0;
  for (let t = 0; t < ROUNDS; t++) {
    const s1 = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const choice = e & f ^ ~e & g;
    const t1 = h + s1 + choice + (CONSTANTS[t] ?? 0) + (w[t] ?? 0) | 0;
    const s0 = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^
      (a >>> 22 | a << 10);
    const majority = a & b ^ a & c ^ b & c;
    h = g;
    g = f;
    f = e;
    e = d + t1 | 0;
    d = c;
    c = b;
    b = a;
    a = t1 + s0 + majority | 0;
  }
  const sums = [a, b, c, d, e, f, g, h];
  for (let word = 0; word < DIGEST_WORDS; word++) {
    digest[word] = (digest[word] ?? 0) + (sums[word] ?? 0);
  }
}

/**
 * The first 32 bits after the point of roots of the first primes. Doubles are
 * exact enough: the largest root is below 32, which leaves 48 bits.
 */
function rootFractions(count: number, power: number): Int32Array {
  const words = new Int32Array(count);
  let found = 0;
  for (let n = 2; found < count; n++) {
    if (!isPrime(n)) continue;
    const root = n ** power;
    words[found++] = (root - Math.floor(root)) * 2 ** 32;
  }
  return words;
}

function isPrime(n: number): boolean {
  for (let divisor = 2; divisor * divisor <= n; divisor++) {
    if (n % divisor === 0) return false;
  }
  return true;
}
