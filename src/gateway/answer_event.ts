/**
 * The one event that an answer becomes whose status cannot be told any more,
 * as its stream has begun with 200.
 *
 * Engines answer errors in shapes of their own, or in none: a client that reads
 * a stream finds an error only by its API's shape.
 *
 * Invariant: an answer of status 400 or more becomes an error of that shape,
 * and what it says is true of the answer: nothing is said of its framing that
 * was not seen.
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import { type HeaderList, headerValue } from "../core/request.ts";
import { errorEvent, jsonEvent } from "./error_answer.ts";
import { errorShape, type FailedRequest, isAnthropic } from "./error_shape.ts";

/** An answer that becomes one event is held whole: errors are small. */
export const EVENT_BYTES_MAX = 65_536;

/** Longer texts of engines are traces, which help no client. */
const MESSAGE_CHARS_MAX = 500;

/** OpenAI's error types by status; others are the server's. */
const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
};

/** An answer that has come whole. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: HeaderList;
  /** `undefined` when it is longer than an event may be. */
  readonly bytes: Uint8Array | undefined;
}

/** The event, as text. */
export function answerEvent(answer: WholeAnswer, asked: FailedRequest): string {
  const { bytes, status } = answer;
  const { requestId, target } = asked;
  const text = bytes && new TextDecoder().decode(bytes);
  const parsed = parsedJson(text);
  if (status >= 400) {
    const event = isShaped(parsed, target)
      ? parsed
      : errorShape(factsOf(answer, messageIn(parsed, text, answer)), asked);
    return jsonEvent(event, target, true);
  }
  if (status < 300 && parsed !== undefined) {
    return jsonEvent(parsed, target, false);
  }
  const error = new GatewayError("upstream_malformed", {
    message: wrongText(answer),
  });
  return errorEvent(error, target, requestId);
}

/** Whether a body is an error of the API already. */
function isShaped(parsed: unknown, target: string): boolean {
  const error = memberOf(parsed, "error");
  if (typeof error !== "object" || error === null) return false;
  return !isAnthropic(target) || memberOf(parsed, "type") === "error";
}

function factsOf({ status }: WholeAnswer, message: string) {
  const type = TYPES[status] ?? "server_error";
  return { status, type, message, param: null, code: null };
}

/**
 * What the engine says, wherever: OpenAI's and SGLang's `message`, FastAPI's
 * `detail`, TGI's `error`, or a text.
 */
function messageIn(
  parsed: unknown,
  text: string | undefined,
  { headers, status }: WholeAnswer,
): string {
  const error = memberOf(parsed, "error");
  const said = [
    memberOf(error, "message"),
    memberOf(parsed, "message"),
    memberOf(parsed, "detail"),
    error,
    parsed === undefined && isPlain(headers) ? text : parsed,
  ];
  const lines = said.map((value) => typeof value === "string" ? value : "")
    .map(oneLine);
  return lines.find((line) => line !== "") ??
    `The endpoint answered with status ${status}`;
}

/** Whether a body can be read as it came: neither a page nor compressed. */
function isPlain(headers: HeaderList): boolean {
  const type = headerValue(headers, "content-type") ?? "text/plain";
  const coding = headerValue(headers, "content-encoding") ?? "identity";
  return /^text\/plain\b/i.test(type) && /^identity$/i.test(coding);
}

/** The text without line breaks and other control characters, cut. */
function oneLine(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, " ").trim();
  return [...line].slice(0, MESSAGE_CHARS_MAX).join("");
}

/** What is wrong with an answer that is neither an error nor of use. */
function wrongText({ bytes, status }: WholeAnswer): string {
  if (status >= 300) return `The endpoint answered with status ${status}`;
  return bytes === undefined
    ? `The endpoint answered with no event stream and over ` +
      `${EVENT_BYTES_MAX} bytes`
    : "The endpoint answered with neither an event stream nor JSON";
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null &&
      Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function parsedJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
