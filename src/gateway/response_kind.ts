/**
 * What kind of answer an engine has given.
 *
 * Invariant: it is told from the head alone; no byte of a body is looked at.
 *
 * @module
 */
import { headerValue } from "../core/request.ts";
import type { UpstreamResponse } from "../upstream/client.ts";

/**
 * Whether an engine has worked for a call. What it refused cost nothing, and a
 * tunnel is open for as long as its client likes, at work or not.
 */
export function isServed(response: UpstreamResponse | undefined): boolean {
  return response !== undefined && response.upgraded === undefined &&
    response.status < 400;
}

/** Whether an answer is a stream of events that can be read as such. */
export function isEventStream(response: UpstreamResponse): boolean {
  const type = headerValue(response.headers, "content-type");
  return type !== undefined && /^text\/event-stream\b/i.test(type) &&
    headerValue(response.headers, "content-encoding") === undefined;
}
