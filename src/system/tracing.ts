/**
 * Sends spans to a collector: OTLP over HTTP as JSON (OpenTelemetry protocol
 * 1.x, `POST /v1/traces`).
 *
 * The runtime has an exporter of its own. It is not used: in a compiled binary
 * it is on or off since the compilation and heeds no variable, and where it is
 * on, it also sends a span of its own for each request, with the whole URL.
 *
 * Invariant: at most `SPANS_MAX` spans wait, at most one request is under way,
 * and no request of a client waits for either. What cannot be sent is dropped
 * and counted, and the log says so once until a send succeeds again.
 *
 * @module
 */
import type { Collector } from "../config/tracing.ts";
import type { LogFields, Outside } from "../core/outside.ts";
import type { Span } from "../gateway/call_trace.ts";
import { UpstreamClient } from "../upstream/client.ts";

/** 1 s: soon enough for whoever looks, and one request a second. */
const FLUSH_MS = 1_000;

/** A batch of the size that collectors expect (OTEL_BSP default). */
const BATCH_SPANS = 512;

/** Spans that wait: some 4 MiB. */
const SPANS_MAX = 4_096;

/** A collector takes a batch at once or is not well: milliseconds. */
const ANSWER_MS = 5_000;

/** `SpanKind` and `StatusCode` of the protocol. */
const KIND = { server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

/** Trace flags of every span that is sent: it was sampled. */
const FLAGS_SAMPLED = 1;

const NS_PER_MS = 1_000_000n;

const encoder = new TextEncoder();

/** What an exporter is made of. */
export interface SpanExporterParts {
  readonly outside: Pick<Outside, "clock" | "dial" | "log">;
  readonly collector: Collector;
}

/** Sends the spans of one thread. */
export class SpanExporter {
  readonly #parts: SpanExporterParts;
  readonly #upstream: UpstreamClient;
  #spans: Span[] = [];
  #droppedCount = 0;
  #hasFailed = false;
  #sending: Promise<void> | undefined;
  #isClosed = false;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: SpanExporterParts) {
    this.#parts = parts;
    this.#upstream = new UpstreamClient(parts.outside, { idleMs: ANSWER_MS });
  }

  /** Takes a span that is over. */
  add(span: Span): void {
    if (this.#isClosed || this.#spans.length >= SPANS_MAX) {
      this.#droppedCount += 1;
      return;
    }
    this.#spans.push(span);
    this.#cancelTimer ??= this.#parts.outside.clock.after(FLUSH_MS, () => {
      this.#cancelTimer = undefined;
      this.flush();
    });
  }

  /** Sends what waits; resolves, never rejects, once that is over. */
  flush(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => this.#sending = undefined);
    return this.#sending;
  }

  /** Sends what waits, within the time that a collector has, and ends. */
  async close(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#isClosed = true;
    await this.flush();
    this.#upstream.close();
  }

  async #sendAll(): Promise<void> {
    while (this.#spans.length > 0) {
      await this.#send(this.#spans.splice(0, BATCH_SPANS));
    }
  }

  async #send(batch: readonly Span[]): Promise<void> {
    const { clock, log } = this.#parts.outside;
    const { address, basePath, host } = this.#parts.collector;
    const body = encoder.encode(JSON.stringify(exportRequest(batch)));
    const exchange = this.#upstream.start({
      address,
      method: "POST",
      target: `${basePath}/v1/traces`,
      headers: [["host", host], ["content-type", "application/json"]],
      body,
    });
    const cancelDeadline = clock.after(ANSWER_MS, exchange.abort);
    let reason: string | undefined;
    try {
      const response = await exchange.response;
      if (response.status >= 300) reason = `status ${response.status}`;
      if (response.body !== undefined && "cancel" in response.body) {
        response.body.cancel();
      }
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    } finally {
      cancelDeadline();
    }
    if (reason === undefined) this.#hasFailed = false;
    else this.#droppedCount += batch.length;
    if (this.#droppedCount === 0 || this.#hasFailed) return;
    this.#hasFailed = reason !== undefined;
    log("warn", "spans.dropped", { count: this.#droppedCount, reason });
    this.#droppedCount = 0;
  }
}

/** An `ExportTraceServiceRequest` in its JSON mapping. */
export function exportRequest(spans: readonly Span[]): unknown {
  const resource = { "service.name": "tryst" };
  return {
    resourceSpans: [{
      resource: { attributes: attributeList(resource) },
      scopeSpans: [{
        scope: { name: "tryst" },
        spans: spans.map(spanObject),
      }],
    }],
  };
}

function spanObject(span: Span): unknown {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentId ?? "",
    flags: FLAGS_SAMPLED,
    name: span.name,
    kind: KIND[span.kind],
    startTimeUnixNano: unixNano(span.startMs),
    endTimeUnixNano: unixNano(span.endMs),
    attributes: attributeList(span.attributes),
    events: span.events.map(({ atMs, name }) => ({
      timeUnixNano: unixNano(atMs),
      name,
    })),
    status: span.error === undefined
      ? {}
      : { code: STATUS_ERROR, message: span.error },
  };
}

/** 64-bit numbers are text in this mapping. */
function unixNano(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * NS_PER_MS / 1_000n);
}

function attributeList(fields: LogFields): unknown[] {
  const list: unknown[] = [];
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    list.push({ key, value: attributeValue(value) });
  }
  return list;
}

function attributeValue(value: string | number | boolean): unknown {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "boolean":
      return { boolValue: value };
    default:
      return Number.isInteger(value)
        ? { intValue: String(value) }
        : { doubleValue: value };
  }
}
