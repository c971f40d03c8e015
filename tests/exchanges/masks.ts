/**
 * What differs from one run of an exchange to the next, and nothing else:
 *
 * - `date: {date}`: the time of an answer;
 * - `{request id}`: an id that the gateway made;
 * - `127.0.0.1:{port}`: a free port;
 * - `x-tryst-queue-ms: {ms}`: how long a call waited that did;
 * - `x-ratelimit-reset-requests: {reset}`: until a tenant's tokens are back.
 *
 * Invariant: masking is idempotent, so what a file holds can be masked too.
 *
 * @module
 */
import { lacks } from "../gateway/old_listener.ts";

/** The masks in their order. */
const MASKS: readonly (readonly [what: RegExp, name: string])[] = [
  [/(?<=\r\ndate: )[^\r]+/g, "{date}"],
  [/\breq-[0-9a-v]{16}\b/g, "{request id}"],
  [/(?<=\b127\.0\.0\.1:)\d+/g, "{port}"],
  [/(?<=\r\nx-tryst-queue-ms: )[1-9]\d*/g, "{ms}"],
  [/(?<=\r\nx-ratelimit-reset-requests: )[^\r]+/g, "{reset}"],
];

/** What the listener of Deno 2.7 adds, leaves out, or is kept quiet with. */
const OLD_FIELDS: readonly RegExp[] = [
  /\r\nvary: accept-encoding(?=\r\n)/,
  /(?<=\r\nvary: )accept-encoding, /,
  /\r\ncache-control: no-transform(?=\r\n)/,
  /(?<=\r\ncache-control: [^\r]*), no-transform(?=\r\n)/,
  /\r\nconnection: close(?=\r\n)/,
];

/** The text with what differs from run to run masked. */
export function masked(text: string): string {
  return MASKS.reduce((rest, [what, name]) => rest.replace(what, name), text);
}

/**
 * An answer as it can be compared on the running version of Deno: as it is, or
 * on Deno 2.7 in lower case, with its fields in order of name, and without
 * those that version differs in.
 */
export function comparable(answer: string): string {
  if (lacks("fieldOrder") === undefined) return answer;
  const lower = answer.toLowerCase();
  const headEnd = lower.indexOf("\r\n\r\n") + 2;
  const head = OLD_FIELDS.reduce(
    (rest, field) => rest.replace(field, ""),
    lower.slice(0, headEnd),
  );
  const [statusLine = "", ...fields] = head.split("\r\n");
  return [statusLine, ...fields.sort()].join("\r\n") + lower.slice(headEnd);
}
