/**
 * The failures of an endpoint that speak against its health.
 *
 * They are codes of the error table, so that what a call ended with is
 * narrowed, not translated. `upstream_malformed` is not among them: whoever
 * answers rubbish can be reached, and mostly answers one path with it.
 *
 * Invariant: no HTTP status is among them. An engine that answers, whatever it
 * answers, can be reached.
 *
 * @module
 */
import type { ErrorCode } from "../error.ts";

/** All kinds; their order is that of a word in the endpoint table. */
export const FAILURE_KINDS = [
  "upstream_unreachable",
  "upstream_connect_timeout",
  "upstream_first_byte_timeout",
  "upstream_idle_timeout",
  "upstream_reset",
] as const satisfies readonly ErrorCode[];

/** A kind of failure. */
export type FailureKind = typeof FAILURE_KINDS[number];

/** Whether an error speaks against the endpoint that it came from. */
export function isFailureKind(code: ErrorCode): code is FailureKind {
  return (FAILURE_KINDS as readonly ErrorCode[]).includes(code);
}
