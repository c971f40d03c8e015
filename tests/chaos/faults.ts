/**
 * What can be wrong with an engine that runs: one mode at a time, for a share
 * of its requests.
 *
 * Invariant: a mode is a line of JSON on the engine's standard input, and the
 * next line replaces it.
 *
 * @module
 */

/** What goes wrong with a request; `well` for nothing. */
export const MODES = [
  "well",
  /** Reads and never answers. */
  "hang",
  /** Takes its time before the head and between events. */
  "slow",
  /** Resets the connection instead of answering. */
  "reset_head",
  /** Resets it within the body. */
  "reset_body",
  /** Closes it in order within the body, as if that were all. */
  "cut_body",
  /** Answers 503 with `Retry-After`. */
  "busy",
  /** Answers 500. */
  "failing",
  /** Answers with something that is not HTTP. */
  "garbage",
  /** Closes the connection after a whole answer, without saying so. */
  "closing",
] as const;

/** One of `MODES`. */
export type Mode = typeof MODES[number];

/** What an engine is told. */
export interface Fault {
  readonly mode: Mode;
  /** Share of the requests that are hit. */
  readonly share: number;
}
