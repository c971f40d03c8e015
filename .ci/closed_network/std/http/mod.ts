/**
 * Stand-in for `@std/http`.
 *
 * Invariant: nothing but exports.
 *
 * @module
 */
export * from "./cookie.ts";
export * from "./status.ts";
