/**
 * From the value that names a session to its hash.
 *
 * Invariant: equal values give equal hashes wherever they were found. A value
 * over the limit counts through its SHA-256, because a truncated one would
 * merge all sessions that begin alike.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { isBlank } from "./bytes.ts";
import { hashBytes, type KeyHash } from "./hash.ts";

/**
 * Longest value in bytes that is used as it is. Real session ids have 20 to
 * 256 bytes; the limit is the size of the buffer that a scanner needs.
 */
export const SESSION_KEY_BYTES_MAX = 1024;

/**
 * Longest value in bytes that a filter is given, since it must see the whole
 * value at once. Claude Code's `metadata.user_id` has about 200.
 */
export const FILTER_VALUE_BYTES_MAX = 8192;

/** Hashes a value; `undefined` when it is blank, which names no session. */
export function hashKey(value: Uint8Array): KeyHash | undefined {
  if (isBlank(value)) return undefined;
  if (value.length <= SESSION_KEY_BYTES_MAX) return hashBytes(value);
  return hashBytes(createHash("sha256").update(value).digest());
}
