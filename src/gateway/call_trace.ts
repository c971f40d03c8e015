/**
 * The spans of one request: one for the whole, and one for each attempt.
 *
 * They are made by hand. What the runtime makes by itself carries whole URLs,
 * with the keys and session ids in their queries, and is switched on or off
 * when a binary is compiled, not when it is run.
 *
 * Invariant: a request whose caller has decided against its trace is left as
 * it is. Spans have the fields of the access log and no others, so what may
 * not stand there does not stand here.
 *
 * @module
 */
import type { LogFields } from "../core/outside.ts";
import type { Header, HeaderList } from "../core/request.ts";
import { headerValue } from "../core/request.ts";
import type { Phase } from "./phase.ts";
import {
  SAMPLED_FLAG,
  type TraceContext,
  traceContextOf,
  withTraceContext,
} from "./trace_context.ts";

/** Something that was done, from when to when. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** `undefined` for the first of a trace. */
  readonly parentId: string | undefined;
  readonly name: string;
  /** `server` for a request as a whole, `client` for an attempt. */
  readonly kind: "server" | "client";
  /** Milliseconds since the Unix epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: LogFields;
  /** The phases entered, each with its time. */
  readonly events: readonly { readonly name: string; readonly atMs: number }[];
  /** The code of what failed; `undefined` for nothing. */
  readonly error: string | undefined;
}

/** Takes spans that are over. */
export type SpanSink = (span: Span) => void;

/** What a tracer is made of. */
export interface TracerParts {
  readonly random: () => number;
  /** Share of the requests traced whose caller has not decided. */
  readonly sample: number;
  readonly sink: SpanSink;
}

/** An attempt under way. */
interface OpenAttempt {
  readonly spanId: string;
  readonly startMs: number;
  readonly endpoint: string | undefined;
  readonly number: number;
  readonly events: { readonly name: string; readonly atMs: number }[];
  error: string | undefined;
}

/** Decides which requests are traced. */
export class Tracer {
  readonly #parts: TracerParts;

  constructor(parts: TracerParts) {
    this.#parts = parts;
  }

  /** The trace of a request; `undefined` when it passes as it is. */
  begin(headers: HeaderList): CallTrace | undefined {
    const { random, sample } = this.#parts;
    const parent = traceContextOf(headers);
    const isSampled = parent === undefined
      ? random() < sample
      : (parent.flags & SAMPLED_FLAG) !== 0;
    const isBroken = parent === undefined &&
      headerValue(headers, "traceparent") !== undefined;
    return isSampled || isBroken
      ? new CallTrace(parent, isSampled, this.#parts)
      : undefined;
  }
}

/** The trace of one request. */
export class CallTrace {
  readonly traceId: string;
  /** Whether anybody will see its spans. */
  readonly isSampled: boolean;
  readonly #parent: TraceContext | undefined;
  readonly #parts: TracerParts;
  readonly #spanId: string;
  readonly #events: { readonly name: string; readonly atMs: number }[] = [];
  #attempt: OpenAttempt | undefined;
  #attemptCount = 0;

  constructor(
    parent: TraceContext | undefined,
    isSampled: boolean,
    parts: TracerParts,
  ) {
    this.#parent = parent;
    this.#parts = parts;
    this.isSampled = isSampled;
    this.traceId = parent?.traceId ?? hexDigits(parts.random, 32);
    this.#spanId = hexDigits(parts.random, 16);
  }

  /** The request enters a phase, an attempt at this endpoint among them. */
  entered(phase: Phase, nowMs: number, endpoint: string | undefined): void {
    this.#events.push({ name: phase, atMs: nowMs });
    this.#attempt?.events.push({ name: phase, atMs: nowMs });
    if (phase === "attempt") {
      this.#attempt = {
        spanId: hexDigits(this.#parts.random, 16),
        startMs: nowMs,
        endpoint,
        number: ++this.#attemptCount,
        events: [],
        error: undefined,
      };
    } else if (phase !== "relay") this.#endAttempt(nowMs);
  }

  /** The attempt under way has failed, before its answer or within it. */
  failed(code: string): void {
    if (this.#attempt !== undefined) this.#attempt.error = code;
  }

  /** The fields of an attempt's request: its span is the engine's parent. */
  requestHeaders(headers: readonly Header[]): Header[] {
    const context = {
      traceId: this.traceId,
      parentId: this.#attempt?.spanId ?? this.#spanId,
      flags: this.#parent?.flags ?? (this.isSampled ? SAMPLED_FLAG : 0),
    };
    return withTraceContext(headers, context, this.#parent !== undefined);
  }

  /** The request is over. */
  end(
    { attributes, endMs, error, startMs }: Pick<
      Span,
      "attributes" | "startMs" | "endMs" | "error"
    >,
  ): void {
    this.#send({
      traceId: this.traceId,
      spanId: this.#spanId,
      parentId: this.#parent?.parentId,
      name: "request",
      kind: "server",
      startMs,
      endMs,
      attributes,
      events: this.#events,
      error,
    });
  }

  #endAttempt(endMs: number): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    this.#attempt = undefined;
    const { endpoint, error, events, number, spanId, startMs } = attempt;
    this.#send({
      traceId: this.traceId,
      spanId,
      parentId: this.#spanId,
      name: "attempt",
      kind: "client",
      startMs,
      endMs,
      attributes: { endpoint, attempt: number },
      events,
      error,
    });
  }

  #send(span: Span): void {
    if (this.isSampled) this.#parts.sink(span);
  }
}

/** Digits drawn at a time: as many as a random number has bits for. */
const DIGITS_A_DRAW = 8;

/** Random lower-case hex digits, not all 0; `count` a multiple of 8. */
function hexDigits(random: () => number, count: number): string {
  let digits = "";
  while (digits.length < count) {
    // The last draw is never 0, as an id of zeros means none.
    const least = digits.length + DIGITS_A_DRAW === count ? 1 : 0;
    const word = Math.max(least, Math.floor(random() * 2 ** 32));
    digits += word.toString(16).padStart(DIGITS_A_DRAW, "0");
  }
  return digits;
}
