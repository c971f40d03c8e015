/**
 * Whether a failed attempt may be followed by another, on the next endpoint.
 *
 * | the attempt failed | request bytes | method | body | then |
 * | --- | --- | --- | --- | --- |
 * | before it was connected, or before any byte was accepted | none sent | any | any | next endpoint |
 * | after bytes were sent, before the first byte of a response | perhaps all | idempotent | held whole, or none | next endpoint |
 * | the same | perhaps all | idempotent | partly gone | error |
 * | the same | perhaps all | any other, POST above all | any | error |
 * | with a response that is not HTTP | all | any | any | error |
 * | after the first byte of a response | all | any | any | the answer breaks off |
 * | as the client left or its body broke | any | any | any | nothing to answer |
 *
 * An engine may have begun to compute as soon as it has the bytes, and a
 * failure on the way does not say that it has not (RFC 9110, 9.2.2).
 *
 * Invariant: a request that an engine may have processed is never sent again
 * unless its method says that this is harmless.
 *
 * @module
 */

/** Methods whose repetition is harmless (RFC 9110, 9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  "DELETE",
  "GET",
  "HEAD",
  "OPTIONS",
  "PUT",
  "TRACE",
]);

/** An attempt that failed before its response began. */
export interface FailedAttempt {
  /** Whether the failure is the endpoint's, not the client's. */
  readonly isUpstreamFault: boolean;
  /** Whether any byte of a response came. */
  readonly hasResponse: boolean;
  /** Whether any byte of the request may have reached the engine. */
  readonly sent: boolean;
  readonly method: string;
  /** Whether the whole body can still be sent. */
  readonly isReplayable: boolean;
}

/** Whether the rule allows another attempt; limits come on top of it. */
export function mayTryAgain(failed: FailedAttempt): boolean {
  if (!failed.isUpstreamFault || failed.hasResponse) return false;
  if (!failed.sent) return true;
  return IDEMPOTENT.has(failed.method) && failed.isReplayable;
}
