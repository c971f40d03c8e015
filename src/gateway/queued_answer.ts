/**
 * An event stream that begins while its request still waits for a place, so
 * that nothing between client and gateway takes the silence for death.
 *
 * It costs the status: what the engine, or the gateway, answers in the end
 * comes as events of a stream that has begun with 200. So it is off unless
 * `queue.keepalive` says how often, and only for clients that asked for events.
 *
 * Invariant: comments come only before the answer. An answer that is no event
 * stream becomes one event, an error always of the shape its API has.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import type { Clock } from "../core/outside.ts";
import { type HeaderList, headerValue } from "../core/request.ts";
import { answerEvent, EVENT_BYTES_MAX } from "./answer_event.ts";
import type { Call } from "./call.ts";
import type { Answer } from "./client_request.ts";

/** A comment (WHATWG HTML, 9.2.6), which readers of events pass over. */
const COMMENT = new TextEncoder().encode(": queued\n\n");

/** What a waiting answer needs to know. */
export interface QueuedParts {
  readonly clock: Clock;
  /** Between two comments. */
  readonly everyMs: number;
  readonly call: Call;
  /** The answer there will be; never rejects. */
  readonly answering: Promise<Answer>;
  /** The gateway's headers as things are. */
  readonly headers: () => HeaderList;
}

/**
 * The answer, if it comes before the first comment is due or its request waits
 * no more by then; else a stream of comments with the answer behind them.
 */
export async function queuedAnswer(parts: QueuedParts): Promise<Answer> {
  const { answering, call } = parts;
  const first = await firstOf(parts);
  if (first !== undefined) return first;
  if (call.phase !== "admit" || !wantsEvents(call)) return await answering;
  return {
    status: 200,
    headers: [
      ["content-type", "text/event-stream; charset=utf-8"],
      ["cache-control", "no-cache"],
      ["x-accel-buffering", "no"],
      ...parts.headers(),
    ],
    body: new QueuedBody(parts),
  };
}

/** Comments, and then the answer. */
class QueuedBody implements BodySource {
  readonly length = undefined;
  readonly #parts: QueuedParts;
  #isFirst = true;
  #hasLeft = false;
  /** What is read once the answer is there. */
  #rest: BodySource | undefined;

  constructor(parts: QueuedParts) {
    this.#parts = parts;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#rest !== undefined) return await this.#rest.read();
    if (this.#isFirst) {
      this.#isFirst = false;
      return COMMENT;
    }
    const answer = await firstOf(this.#parts);
    if (answer === undefined) return COMMENT;
    this.#rest = eventsOf(answer, this.#parts.call);
    if (this.#hasLeft) this.#rest.cancel();
    return await this.#rest.read();
  }

  cancel(): void {
    this.#hasLeft = true;
    if (this.#rest === undefined) this.#parts.call.leave?.();
    else this.#rest.cancel();
  }
}

/** The answer, or `undefined` when the next comment is due first. */
async function firstOf(parts: QueuedParts): Promise<Answer | undefined> {
  const { answering, clock, everyMs } = parts;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.after(everyMs, () => resolve(undefined));
  try {
    return await Promise.race([answering, promise]);
  } finally {
    cancel();
  }
}

/** Whether a client reads events: it says so in its head or in its body. */
function wantsEvents({ request, sniffed }: Call): boolean {
  const accept = headerValue(request.head.headers, "accept");
  if (accept?.includes("text/event-stream")) return true;
  const body = sniffed?.body;
  if (!(body instanceof Uint8Array)) return false;
  const parsed = parsedJson(body);
  return typeof parsed === "object" && parsed !== null &&
    Reflect.get(parsed, "stream") === true;
}

function eventsOf(answer: Answer, call: Call): BodySource {
  const { body, headers, status } = answer;
  const type = headerValue(headers, "content-type") ?? "";
  if (status < 200 || status > 299 || !/^text\/event-stream\b/i.test(type)) {
    return new SingleEvent(answer, call);
  }
  // A short stream has come whole with its head.
  return body instanceof Uint8Array || body === undefined
    ? new WholeBody(body)
    : body;
}

/** Bytes that are here, as a source. */
class WholeBody implements BodySource {
  readonly length = undefined;
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array | undefined) {
    this.#bytes = bytes;
  }

  read(): Promise<Uint8Array | undefined> {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return Promise.resolve(bytes);
  }

  cancel(): void {
    this.#bytes = undefined;
  }
}

/** An answer that is no stream, as one event. */
class SingleEvent implements BodySource {
  readonly length = undefined;
  readonly #answer: Answer;
  readonly #call: Call;
  #isOver = false;

  constructor(answer: Answer, call: Call) {
    this.#answer = answer;
    this.#call = call;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#isOver) return undefined;
    this.#isOver = true;
    const { id, request } = this.#call;
    const { headers, status } = this.#answer;
    const event = answerEvent(
      { status, headers, bytes: await this.#whole() },
      { target: request.head.target, requestId: id },
    );
    return new TextEncoder().encode(event);
  }

  cancel(): void {
    this.#isOver = true;
    const { body } = this.#answer;
    if (body !== undefined && !(body instanceof Uint8Array)) body.cancel();
  }

  /** The body, or nothing when it is longer than an event may be. */
  async #whole(): Promise<Uint8Array | undefined> {
    const { body } = this.#answer;
    if (body === undefined) return new Uint8Array();
    if (body instanceof Uint8Array) {
      return body.length > EVENT_BYTES_MAX ? undefined : body;
    }
    const whole = new Uint8Array(EVENT_BYTES_MAX);
    let length = 0;
    // Bounded by the limit, and by the upstream client's limits of silence.
    for (;;) {
      const chunk = await body.read();
      if (chunk === undefined) return whole.subarray(0, length);
      if (length + chunk.length > EVENT_BYTES_MAX) {
        body.cancel();
        return undefined;
      }
      whole.set(chunk, length);
      length += chunk.length;
    }
  }
}

function parsedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
