/**
 * Tells how requests ended: a record of each for the access log, an event for
 * each that failed, and the span of each that is traced.
 *
 * Of a flood of failures so many are told a second, and how many were not.
 *
 * Invariant: a record has the fields listed here and nothing else. Nothing of
 * a body but the model, of a query or of a header but the ids of request and
 * trace and what trusted proxies say of the client is in it; where a session key may stand in the path, its template is
 * shown; the session is named by the first digits of its hash.
 *
 * @module
 */
import type { GatewayError } from "../core/error.ts";
import { shortHash } from "../core/hash.ts";
import type { KeyPlan } from "../core/scan/key_plan.ts";
import type { Log } from "../core/outside.ts";
import type { Call } from "./call.ts";
import type { FailurePace } from "./failure_pace.ts";
import type { ForwardingRules } from "./forwarding.ts";
import { shownPath } from "./live_calls.ts";
import type { RelayEnd } from "./relay.ts";
import { traceContextOf } from "./trace_context.ts";

/** How one request ended. Times are in whole milliseconds. */
export interface AccessRecord {
  /** When it had ended, in milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly isFailure: boolean;
  readonly requestId: string;
  /** The nearest address on the way that is no trusted proxy's. */
  readonly client: string;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  /** What the client was told; `undefined` when it left before. */
  readonly status: number | undefined;
  /** The gateway's error code, `client_gone` included. */
  readonly error: string | undefined;
  /** Where it was last attempted. */
  readonly endpoint: string | undefined;
  readonly affinity: string;
  readonly keySource: string | undefined;
  /** First 8 hex digits of the session key's hash. */
  readonly session: string | undefined;
  readonly attempts: number;
  readonly queueMs: number;
  readonly firstByteMs: number | undefined;
  readonly totalMs: number;
  /** Of the request's body, as far as it was read. */
  readonly bytesIn: number;
  /** Of the answer's body, whoever wrote it. */
  readonly bytesOut: number;
  readonly model: string | undefined;
  /** Whose request it was; `undefined` where clients need no API key. */
  readonly tenant: string | undefined;
  readonly traceId: string | undefined;
}

/** Takes records. */
export type AccessSink = (record: AccessRecord) => void;

/** What an access log is made of. */
export interface AccessLogParts {
  /** Takes `request.failed`, with causes. */
  readonly log: Log;
  readonly pace: FailurePace;
  readonly random: () => number;
  readonly plan: KeyPlan;
  readonly forwarding: Pick<ForwardingRules, "wayOfCall">;
  /** `undefined` when nobody takes records. */
  readonly sink: AccessSink | undefined;
  readonly access: "all" | "failures" | "none";
  /** Share of the requests that did not fail which are told of. */
  readonly sample: number;
}

/** Names of models are cut here; the longest known have some 100. */
const MODEL_CHARS_MAX = 128;

/** Methods are cut here; registered ones have up to 17 (RFC 9110, 16.1). */
const METHOD_CHARS_MAX = 24;

/** Tells of the requests of one gateway. */
export class AccessLog {
  readonly #parts: AccessLogParts;

  constructor(parts: AccessLogParts) {
    this.#parts = parts;
  }

  /** A request has settled. */
  settled(call: Call<"settle">, end: RelayEnd): void {
    const error = end.kind === "broken" ? end.error : undefined;
    const isFailure = error === undefined
      ? end.kind === "complete" && (call.response?.status ?? 0) >= 500
      : error.code !== "client_gone";
    const isTold = !isFailure && error === undefined ||
      this.#parts.pace.mayTell(call.sinceMs);
    if (error !== undefined && isTold) this.#logFailure(call, error);
    const isWanted = isTold && this.#wants(isFailure);
    const isTraced = call.trace?.isSampled === true;
    if (!isWanted && !isTraced) return;
    const record = this.#record(call, end, isFailure);
    if (isWanted) this.#parts.sink?.(record);
    if (isTraced) {
      call.trace?.end({
        startMs: call.acceptedAtMs,
        endMs: call.sinceMs,
        error: isFailure ? record.error ?? String(record.status) : undefined,
        attributes: attributesOf(record),
      });
    }
  }

  #wants(isFailure: boolean): boolean {
    const { access, random, sample, sink } = this.#parts;
    if (sink === undefined || access === "none") return false;
    if (isFailure) return true;
    return access === "all" && (sample >= 1 || random() < sample);
  }

  #record(
    call: Call<"settle">,
    end: RelayEnd,
    isFailure: boolean,
  ): AccessRecord {
    const { forwarding, plan } = this.#parts;
    const { firstByteAtMs, response, sniffed } = call;
    const { head } = call.request;
    const found = sniffed?.found;
    const body = response?.body;
    const error = end.kind === "broken" ? end.error : undefined;
    return {
      atMs: call.sinceMs,
      isFailure,
      requestId: call.id,
      client: forwarding.wayOfCall(call).clientAddress,
      method: head.method.slice(0, METHOD_CHARS_MAX),
      path: shownPath(head, plan),
      status: response?.status ?? error?.row.status,
      error: end.kind === "client_gone" ? end.kind : error?.code,
      endpoint: call.target?.id,
      affinity: call.outcome,
      keySource: found && plan.sourceNames[found.sourceIndex],
      session: found && shortHash(found.hash),
      attempts: call.attemptCount,
      queueMs: Math.round(call.queueMs),
      firstByteMs: firstByteAtMs < 0
        ? undefined
        : Math.round(firstByteAtMs - call.acceptedAtMs),
      totalMs: Math.round(call.sinceMs - call.acceptedAtMs),
      bytesIn: sniffed?.byteCount() ?? 0,
      bytesOut: head.method === "HEAD"
        ? 0
        : body instanceof Uint8Array
        ? body.length
        : call.bytesOut,
      model: sniffed?.model?.slice(0, MODEL_CHARS_MAX),
      tenant: call.tenancy?.tenant,
      traceId: call.trace?.traceId ?? traceContextOf(head.headers)?.traceId,
    };
  }

  #logFailure(call: Call, error: GatewayError): void {
    const isOurs = error.code === "internal_error";
    this.#parts.log(isOurs ? "error" : "info", "request.failed", {
      request_id: call.id,
      code: error.code,
      endpoint: call.target?.id,
      attempts: call.attemptCount,
      cause: causeOf(error, isOurs),
    });
  }
}

/**
 * What led to an error: another one, or what its own text says beyond its row.
 * Such texts name headers and settings, never their values.
 */
function causeOf(
  { cause, message, row }: GatewayError,
  isOurs: boolean,
): string | undefined {
  if (cause instanceof Error) return isOurs ? cause.stack : cause.message;
  return message === row.message ? undefined : message;
}

/** Names of OpenTelemetry's conventions where there are some. */
function attributesOf(record: AccessRecord) {
  return {
    "client.address": record.client,
    "http.request.method": record.method,
    "url.path": record.path,
    "http.response.status_code": record.status,
    "http.request.body.size": record.bytesIn,
    "http.response.body.size": record.bytesOut,
    "error.type": record.isFailure ? record.error : undefined,
    "gen_ai.request.model": record.model,
    "tryst.tenant": record.tenant,
    "tryst.request_id": record.requestId,
    "tryst.endpoint": record.endpoint,
    "tryst.affinity": record.affinity,
    "tryst.key_source": record.keySource,
    "tryst.session": record.session,
    "tryst.attempts": record.attempts,
    "tryst.queue_ms": record.queueMs,
    "tryst.first_byte_ms": record.firstByteMs,
  };
}
