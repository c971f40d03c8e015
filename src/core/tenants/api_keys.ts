/**
 * The API keys that clients present, and whose they are.
 *
 * A presented key is hashed, looked up by the first word of its digest, and
 * the whole digest compared in constant time. Comparing with all 4,096 digests
 * there may be would take a millisecond a request. What the look-up gives away
 * by its time is a word of a digest, and nobody can choose the digest of what
 * they present: knowing all of it leads to no key, since keys have 16
 * characters or more and SHA-256 has no inverse. A key that is unknown is
 * compared too, with nothing that can match, and takes the same way.
 *
 * Invariant: keys are held as SHA-256 digests only, and of what is presented
 * nothing is kept. There are at most `API_KEYS_MAX`.
 *
 * @module
 */
import { timingSafeEqual } from "@std/crypto/timing-safe-equal";
import { API_KEY_CHARS_MAX, API_KEYS_MAX, type ApiKey } from "../api_key.ts";
import { DIGEST_WORDS, sha256 } from "./sha256.ts";

/** What nothing hashes to, as far as anybody knows. */
const NO_DIGEST = new Int32Array(DIGEST_WORDS);

/** A key and its digest as words. */
interface Row<Key> {
  readonly digest: Int32Array;
  readonly key: Key;
}

/** The keys of one configuration. */
export class ApiKeyTable<Key extends ApiKey = ApiKey> {
  readonly #rows = new Map<number, readonly Row<Key>[]>();
  readonly #presented = new Int32Array(DIGEST_WORDS);

  constructor(keys: readonly Key[]) {
    if (keys.length > API_KEYS_MAX) {
      throw new RangeError(
        `Cannot hold ${keys.length} API keys: at most ${API_KEYS_MAX}`,
      );
    }
    for (const key of keys) {
      const digest = wordsOf(key.digest);
      const first = digest[0] ?? 0;
      const rows = this.#rows.get(first) ?? [];
      this.#rows.set(first, [...rows, { digest, key }]);
    }
  }

  /** The key that was presented, unless it is unknown or has expired. */
  find(presented: string, nowMs: number): Key | undefined {
    const digest = this.#presented;
    // Hashed by its beginning: it is compared, and can match nothing.
    const isTooLong = presented.length > API_KEY_CHARS_MAX;
    sha256(presented.slice(0, API_KEY_CHARS_MAX), digest);
    let found: Key | undefined;
    const rows = this.#rows.get(digest[0] ?? 0);
    if (rows === undefined) timingSafeEqual(digest, NO_DIGEST);
    else {
      for (const row of rows) {
        if (timingSafeEqual(digest, row.digest)) found = row.key;
      }
    }
    if (found === undefined || isTooLong) return undefined;
    return nowMs < (found.expiresAtMs ?? Infinity) ? found : undefined;
  }
}

/** The digest of a key, as `ApiKey` has it; `key` is visible ASCII. */
export function digestOfKey(key: string): string {
  const words = new Int32Array(DIGEST_WORDS);
  sha256(key, words);
  return [...words].map((word) => (word >>> 0).toString(16).padStart(8, "0"))
    .join("");
}

function wordsOf(hex: string): Int32Array {
  return Int32Array.from(
    { length: DIGEST_WORDS },
    (_, word) => parseInt(hex.slice(word * 8, word * 8 + 8), 16),
  );
}
