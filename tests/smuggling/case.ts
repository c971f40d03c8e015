/**
 * What one attempt to smuggle a request is.
 *
 * Invariant: once `numbered`, the targets of an attempt are its own, so that
 * what reaches the engine is told apart however many attempts run at once.
 *
 * @module
 */

import type { Lacking } from "../gateway/old_listener.ts";

/** The target of the request that everybody sees; 0000 is its number. */
export const TARGET = "/case-0000";

/** The target of the request that is to be smuggled. */
export const HIDDEN_TARGET = "/hidden-0000";

/** A request that only one of two parsers sees. */
export const HIDDEN = `GET ${HIDDEN_TARGET} HTTP/1.1\r\nHost: x\r\n\r\n`;

/**
 * What has to come of it.
 *
 * - `refused`: 400, or no answer at all, and the connection is closed.
 * - `forwarded`: one request reaches the engine, cleanly framed.
 * - `pipelined`: the second request is one by every reading, and reaches it.
 * - `open`: the request has not come whole, so nothing whole reaches it.
 * - `safe`: refused or forwarded, by the version of the listener.
 */
export type Wanted = "refused" | "forwarded" | "pipelined" | "open" | "safe";

/** One attempt. */
export interface Attempt {
  readonly name: string;
  /** The rule that is broken or bent, or the advisory where others broke. */
  readonly source: string;
  /** All bytes that the client sends, as latin-1. */
  readonly raw: string;
  readonly wanted: Wanted;
  /** What the body of a forwarded request must be; empty unless given. */
  readonly body?: string;
  /** What a listener must have for this to come of it. */
  readonly needs?: Lacking;
}
