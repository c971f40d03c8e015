/**
 * Rank, admit and attempt: tries endpoints until one answers or the rule says
 * stop.
 *
 * The first placement is the session's; each further one takes the next rank
 * that has not failed this call. What may be tried again is `core/retry.ts`;
 * the limit on attempts and the budget come on top.
 *
 * Invariant: one attempt is under way at a time, each has its own place on an
 * endpoint, and the place of a failed one is given back before the next is
 * taken.
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import type { Outside } from "../core/outside.ts";
import type { PassiveHealth } from "../core/passive_health.ts";
import type { Placement } from "../core/placement.ts";
import { headerValue } from "../core/request.ts";
import { mayTryAgain } from "../core/retry.ts";
import type { RetryBudget } from "../core/retry_budget.ts";
import {
  type UpstreamClient,
  UpstreamError,
  type UpstreamExchange,
  type UpstreamResponse,
} from "../upstream/client.ts";
import type { Call } from "./call.ts";
import { upstreamHeaders } from "./headers.ts";
import type { Routes } from "./routes.ts";
import type { Traffic } from "./traffic.ts";
import { asUpstreamFailure } from "./upstream_failure.ts";

/** The highest status there is (RFC 9110, 15); listeners refuse others. */
const STATUS_MAX = 599;

/** What attempts are made with. */
export interface AttemptParts {
  readonly outside: Outside;
  readonly placement: Placement;
  readonly routes: Routes;
  readonly upstream: UpstreamClient;
  readonly health: PassiveHealth;
  readonly retries: RetryBudget;
  readonly traffic: Traffic;
  /** Most attempts of one request; at least 1. */
  readonly attemptsMax: number;
}

/** Makes the attempts of calls. */
export class Attempts {
  readonly #parts: AttemptParts;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /**
   * Resolves to the head of the answer of the endpoint that `call` names then.
   *
   * @throws {GatewayError} of the last attempt, or of admission.
   */
  async run(call: Call): Promise<UpstreamResponse> {
    this.#parts.retries.earn();
    this.#admit(call);
    for (;;) {
      try {
        const exchange = this.#start(call);
        const response = await exchange.response;
        this.#noteResponse(call, exchange, response);
        // From here on there is no other attempt that could want the body.
        call.sniffed?.release();
        return response;
      } catch (cause) {
        const failure = failureOf(call, cause);
        this.noteFailure(call, failure);
        if (!this.#tryNext(call, cause, failure)) throw failure;
      }
    }
  }

  /** One synchronous decision that reserves a place on an endpoint. */
  #admit(call: Call): void {
    const { outside, placement, routes, traffic } = this.#parts;
    call.pool ??= routes.poolFor(call.sniffed?.model);
    if (call.pool === undefined) {
      throw new GatewayError("model_unknown", { param: "model" });
    }
    const placed = placement.place({
      key: call.sniffed?.found?.hash,
      pool: call.pool,
      nowMs: outside.clock.nowMs(),
      ...(call.tried === undefined ? {} : { tried: call.tried }),
    });
    if (placed.kind === "refused") throw new GatewayError(placed.code);
    call.placed = placed;
    call.outcome = placed.outcome;
    call.target = routes.target(placed.slot);
    traffic.attempted(placed.outcome);
  }

  /** Starts one try at the endpoint that was chosen. */
  #start(call: Call): UpstreamExchange {
    const { upstream } = this.#parts;
    const { request, sniffed, target } = call;
    if (target === undefined) {
      throw new Error("Cannot attempt a call that has not been admitted");
    }
    const { head } = request;
    const { handshake } = call;
    call.attemptCount += 1;
    const headers = upstreamHeaders(head.headers, {
      host: target.host,
      requestId: call.id,
      clientAddress: request.clientAddress,
      scheme: request.scheme,
    });
    const exchange = upstream.start({
      address: target.address,
      method: head.method,
      target: target.basePath + head.target,
      headers: handshake?.requestHeaders(headers) ?? headers,
      mayUpgrade: handshake !== undefined,
      body: sniffed?.body,
      contentLength: sniffed?.contentLength,
    });
    request.onGone(() => {
      call.isGone = true;
      if (!target.finishes) exchange.abort();
    });
    return exchange;
  }

  /** @throws {GatewayError} `upstream_malformed` for what no one can relay. */
  #noteResponse(
    call: Call,
    exchange: UpstreamExchange,
    response: UpstreamResponse,
  ): void {
    const { health, outside, placement } = this.#parts;
    const { handshake, placed } = call;
    if (placed === undefined) return;
    if (response.status > STATUS_MAX || handshake?.isBrokenBy(response)) {
      exchange.abort();
      throw new GatewayError("upstream_malformed");
    }
    const nowMs = outside.clock.nowMs();
    health.answered(
      placed.slot,
      response.status,
      retryAfterS(response),
      nowMs,
    );
    // An engine that fails says nothing about where the session belongs.
    if (response.status < 500) placement.answered(placed);
  }

  /** Notes a failure by the endpoint's fault, of an attempt or its relay. */
  noteFailure(call: Call, failure: GatewayError): void {
    const { health, outside, placement } = this.#parts;
    const { placed, pool } = call;
    if (placed === undefined || failure.row.fault !== "upstream") return;
    placement.failed(placed);
    const { code } = failure;
    const nowMs = outside.clock.nowMs();
    // An ejection is logged by the main thread, which sees it in a moment.
    health.failed(placed.slot, nowMs, { code, pool });
  }

  /** Whether there is another attempt; then the call is placed for it. */
  #tryNext(call: Call, cause: unknown, failure: GatewayError): boolean {
    const { attemptsMax, outside, placement, retries } = this.#parts;
    const { placed } = call;
    if (placed === undefined || call.isGone) return false;
    if (call.attemptCount >= attemptsMax) return false;
    const body = call.sniffed?.body;
    const may = mayTryAgain({
      isUpstreamFault: failure.row.fault === "upstream",
      hasResponse: !(cause instanceof UpstreamError) || cause.hasResponse,
      sent: !(cause instanceof UpstreamError) || cause.sent,
      method: call.request.head.method,
      isReplayable: body === undefined || body instanceof Uint8Array,
    });
    if (!may || !retries.spend()) return false;
    placement.settle(placed, outside.clock.nowMs());
    call.placed = undefined;
    (call.tried ??= []).push(placed.slot);
    try {
      this.#admit(call);
    } catch {
      // Nobody else can take it: the failure that there was is the answer.
      return false;
    }
    return true;
  }
}

/** An attempt that was given up without the client's leave: at stopping. */
export function failureOf(call: Call, cause: unknown): GatewayError {
  const failure = asUpstreamFailure(cause);
  return failure.code === "client_gone" && !call.isGone
    ? new GatewayError("gateway_stopping", { cause })
    : failure;
}

/** `Retry-After` in seconds (RFC 9110, 10.2.3); dates are not honored. */
function retryAfterS(response: UpstreamResponse): number | undefined {
  if (response.status !== 429 && response.status !== 503) return undefined;
  const value = headerValue(response.headers, "retry-after");
  return value !== undefined && /^\d{1,6}$/.test(value)
    ? Number(value)
    : undefined;
}
