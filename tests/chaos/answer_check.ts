/**
 * Whether an answer is one that a client may get.
 *
 * A whole answer is the engine's, byte for byte, or the gateway's own error; a
 * broken one is the beginning of the engine's, and may end with the gateway's
 * error event when it is a stream. It answers the request that was sent.
 *
 * Invariant: judged by what came alone, not by what engines say they sent.
 *
 * @module
 */
import { ERROR_TABLE, type ErrorCode } from "../../src/core/error.ts";
import type { Reply } from "../gateway/reply.ts";
import { piecesOf, wishOf } from "./expected.ts";

/** What an engine of the chaos answers besides 200. */
const ENGINE_STATUSES: ReadonlySet<number> = new Set([500, 503]);

/** What the gateway sends while a stream waits. */
const QUEUED = /^(?:: queued\n\n)+/;

/** What the gateway adds to a stream that breaks. */
const ERROR_EVENT = /^(?:\n\n)?data: (\{"error":.*\})\n\n$/;

/** What an answer is an answer to. */
export interface Sent {
  readonly id: string;
  readonly target: string;
}

/** What is wrong with an answer, whole or not; `undefined` for nothing. */
export function answerProblem(sent: Sent, reply: Reply): string | undefined {
  const id = reply.headers.get("x-request-id");
  if (id !== sent.id) return `it answers request "${id}"`;
  const code = reply.headers.get("x-tryst-error");
  if (code !== undefined) return errorProblem(code, reply);
  if (ENGINE_STATUSES.has(reply.status)) {
    return reply.body === "{}" || !reply.isWhole
      ? undefined
      : `the body of status ${reply.status} is not the engine's`;
  }
  if (reply.status !== 200) return `nobody answers status ${reply.status}`;
  return bodyProblem(sent, reply);
}

function errorProblem(code: string, reply: Reply): string | undefined {
  if (!Object.hasOwn(ERROR_TABLE, code)) return `no error is named "${code}"`;
  const { status } = ERROR_TABLE[code as ErrorCode];
  if (status !== reply.status) {
    return `${code} comes with status ${reply.status}: want ${status}`;
  }
  if (code === "internal_error") return "the gateway failed by itself";
  if (!reply.isWhole) return undefined;
  return codeIn(reply.body) === code ? undefined : `the body is not of ${code}`;
}

function bodyProblem(sent: Sent, reply: Reply): string | undefined {
  const pieces = piecesOf(wishOf(sent.target), sent.id);
  const wanted = pieces.join("");
  const body = reply.body.replace(QUEUED, "");
  const hasWaited = body !== reply.body;
  if (reply.isWhole) {
    if (body === wanted) return undefined;
    // What has begun with comments is a stream, whatever comes of it.
    if (hasWaited && isLateEvent(body)) return undefined;
    return body.includes('data: {"error"')
      ? "a stream that broke ends as if it were whole"
      : `a whole body of ${body.length} bytes is not the engine's`;
  }
  if (wanted.startsWith(body)) return undefined;
  let shared = 0;
  while (shared < body.length && body[shared] === wanted[shared]) shared += 1;
  // The error event begins as any event does.
  const at = body.lastIndexOf('data: {"error"');
  const isEvent = pieces.length > 1 && at >= 0 && at <= shared;
  const tail = body.slice(at);
  if (!isEvent) return "a broken body is not the beginning of the engine's";
  // The event may have been cut off itself.
  const event = ERROR_EVENT.exec(tail)?.[1];
  const isError = event === undefined
    ? !tail.endsWith("\n\n")
    : codeIn(event) !== undefined;
  return isError ? undefined : "a broken stream ends in an event of no kind";
}

/** Whether an answer of an engine, or an error, has become an event. */
function isLateEvent(body: string): boolean {
  const json = /^data: (\{.*\})\n\n$/.exec(body)?.[1];
  return json === "{}" || json !== undefined && codeIn(json) !== undefined;
}

/** The code in an error body; `undefined` when it is none. */
function codeIn(text: string): string | undefined {
  try {
    const { code } = JSON.parse(text).error;
    return Object.hasOwn(ERROR_TABLE, code) ? code : undefined;
  } catch {
    return undefined;
  }
}
