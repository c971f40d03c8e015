/**
 * Paths that the gateway asks of engines on its own behalf.
 *
 * Invariant: a path goes out as it was written, so it must be one already.
 *
 * @module
 */

/** A path as it goes out: visible ASCII (RFC 9112, 3.2.1), no fragment. */
const PATH = /^\/[!-"$-~]{0,1023}$/;

/** Whether a value is a path, with or without a query. */
export function isRequestPath(value: unknown): value is string {
  return typeof value === "string" && PATH.test(value);
}
