/**
 * An API key as it is issued to a tenant.
 *
 * Invariant: the key itself is nowhere in it; it can be posted to threads.
 *
 * @module
 */

/** A few for each tenant; those that are exchanged overlap for a while. */
export const API_KEYS_MAX = 4_096;

/** Longest key that is looked at; hashing more would be work for nothing. */
export const API_KEY_CHARS_MAX = 512;

/** One key. */
export interface ApiKey {
  readonly tenant: string;
  /** SHA-256 of the key, 64 lower-case hex digits. */
  readonly digest: string;
  /** From when on it is not accepted; `undefined` for never. */
  readonly expiresAtMs: number | undefined;
}
