/**
 * Stand-in for `@std/crypto`.
 *
 * Invariant: nothing but exports.
 *
 * @module
 */
export * from "./crypto.ts";
export * from "./timing_safe_equal.ts";
