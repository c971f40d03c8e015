/**
 * The phases admit and attempt: tries endpoints until one answers or the rule
 * says stop.
 *
 * The first placement is the session's; each further one takes the next rank
 * that has not failed this call. What may be tried again is `core/placement/retry.ts`;
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
import type { PassiveHealth } from "../core/endpoints/passive_health.ts";
import type { Placed, Placement } from "../core/placement/placement.ts";
import { type Header, headerValue } from "../core/request.ts";
import { mayTryAgain } from "../core/placement/retry.ts";
import type { RetryBudget } from "../core/placement/retry_budget.ts";
import {
  type UpstreamClient,
  UpstreamError,
  type UpstreamExchange,
  type UpstreamResponse,
} from "../upstream/client.ts";
import type { Admission } from "./admission.ts";
import type { Call } from "./call.ts";
import type { ForwardingRules } from "./forwarding.ts";
import type { Routes } from "./routes.ts";
import type { Traffic } from "./traffic.ts";
import type { Transitions } from "./transitions.ts";
import { asUpstreamFailure } from "./upstream_failure.ts";

/** The highest status there is (RFC 9110, 15); listeners refuse others. */
const STATUS_MAX = 599;

/** A segment by which a path leaves where it is, however it is escaped. */
const DOT_SEGMENT = /^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** What attempts are made with. */
export interface AttemptParts {
  readonly outside: Outside;
  readonly placement: Placement;
  readonly admission: Admission;
  readonly routes: Routes;
  readonly forwarding: ForwardingRules;
  readonly upstream: UpstreamClient;
  readonly health: PassiveHealth;
  readonly retries: RetryBudget;
  readonly traffic: Traffic;
  /** Most attempts of one request; at least 1. */
  readonly attemptsMax: number;
  /** What endpoints want to be shown, by their ids. */
  readonly credentials?: ReadonlyMap<string, Header> | undefined;
}

/** Makes the attempts of calls. */
export class Attempts {
  readonly #parts: AttemptParts;
  readonly #transitions: Transitions;

  constructor(parts: AttemptParts, transitions: Transitions) {
    this.#parts = parts;
    this.#transitions = transitions;
  }

  /**
   * Admits and attempts until an endpoint has answered.
   *
   * @throws {GatewayError} of the last attempt, or of admission.
   */
  async run(call: Call<"admit">): Promise<Call<"relay">> {
    this.#parts.retries.earn();
    const admitted = this.#admit(call);
    let attempting = admitted instanceof Promise ? await admitted : admitted;
    for (;;) {
      try {
        const exchange = this.#start(attempting);
        return this.#answered(attempting, exchange, await exchange.response);
      } catch (cause) {
        const failure = failureOf(attempting, cause);
        this.noteFailure(attempting, failure);
        if (!this.#mayFailOver(attempting, cause, failure)) throw failure;
        attempting = await this.#failOver(attempting, failure);
      }
    }
  }

  /** Admit: a place on an endpoint, at once or when the call's turn comes. */
  #admit(
    call: Call<"admit">,
  ): Call<"attempt"> | Promise<Call<"attempt">> {
    const { admission, routes } = this.#parts;
    const placed = admission.admit({
      request: {
        key: call.sniffed.found?.hash,
        pool: call.pool,
        nowMs: call.sinceMs,
        tried: call.tried,
      },
      hints: call.hints,
      tenancy: call.tenancy,
      poolNow: () => routes.poolFor(call.sniffed.model),
      onGone: (callback) => watchClient(call, callback),
    });
    // Most calls do not wait, and should not pay for a promise.
    return placed instanceof Promise
      ? this.#waited(call, placed)
      : this.#admitted(call, placed);
  }

  async #waited(
    call: Call<"admit">,
    placing: Promise<Placed>,
  ): Promise<Call<"attempt">> {
    const { outside, traffic: { times } } = this.#parts;
    try {
      const placed = await placing;
      times.waited("placed", placed.placedAtMs - call.sinceMs);
      return this.#admitted(call, placed);
    } catch (cause) {
      const waitMs = outside.clock.nowMs() - call.sinceMs;
      call.queueMs += waitMs;
      if (cause instanceof GatewayError) times.waited(cause.code, waitMs);
      throw cause;
    } finally {
      call.tenancy?.giveWaiting();
    }
  }

  #admitted(call: Call<"admit">, placed: Placed): Call<"attempt"> {
    const { placement, routes, traffic } = this.#parts;
    const target = routes.target(placed.slot);
    if (target === undefined) {
      placement.settle(placed, placed.placedAtMs);
      throw new Error(`Cannot find an endpoint in slot ${placed.slot}`);
    }
    call.queueMs += placed.placedAtMs - call.sinceMs;
    traffic.attempted(placed);
    return this.#transitions.advance(call, "attempt", placed, target);
  }

  /** What an endpoint has answered is the call's response, if it can be. */
  #answered(
    call: Call<"attempt">,
    exchange: UpstreamExchange,
    response: UpstreamResponse,
  ): Call<"relay"> {
    const { health, placement } = this.#parts;
    const { handshake, placed } = call;
    // What no one can relay.
    if (response.status > STATUS_MAX || handshake?.isBrokenBy(response)) {
      exchange.abort();
      throw new GatewayError("upstream_malformed");
    }
    const relaying = this.#transitions.advance(call, "relay", response);
    const { status } = response;
    const retryS = retryAfterS(response);
    health.answered(placed.slot, status, retryS, relaying.sinceMs);
    // An engine that fails says nothing about where the session belongs.
    if (status < 500) placement.answered(placed);
    // From here on there is no other attempt that could want the body.
    relaying.sniffed.release();
    return relaying;
  }

  /** Attempt: one try at the endpoint that was chosen. */
  #start(call: Call<"attempt">): UpstreamExchange {
    const { handshake, request, sniffed, target } = call;
    const { head } = request;
    if (target.basePath !== "" && DOT_SEGMENT.test(head.target)) {
      throw new GatewayError("request_malformed", {
        message: "The request target must not leave the endpoint's path",
      });
    }
    call.attemptCount += 1;
    const forwarded = this.#parts.forwarding.requestHeaders(
      call,
      this.#parts.credentials?.get(target.id),
    );
    const headers = call.trace?.requestHeaders(forwarded) ?? forwarded;
    const exchange = this.#parts.upstream.start({
      address: target.address,
      method: head.method,
      target: target.basePath + head.target,
      headers: handshake?.requestHeaders(headers) ?? headers,
      mayUpgrade: handshake !== undefined,
      body: sniffed.body,
      contentLength: sniffed.contentLength,
    });
    watchClient(call, () => {
      call.isGone = true;
      if (!target.finishes) exchange.abort();
    });
    return exchange;
  }

  /** Notes a failure by the endpoint's fault, of an attempt or its relay. */
  noteFailure(
    call: Call<"attempt" | "relay">,
    failure: GatewayError,
  ): void {
    const { health, outside, placement, traffic } = this.#parts;
    const { placed, pool } = call;
    call.trace?.failed(failure.code);
    if (failure.row.fault !== "upstream") return;
    traffic.endpointFailed(placed);
    placement.failed(placed);
    const { code } = failure;
    const nowMs = outside.clock.nowMs();
    // An ejection is logged by the main thread, which sees it in a moment.
    health.failed(placed.slot, nowMs, { code, pool });
  }

  /** Whether there may be another attempt; its cost is paid then. */
  #mayFailOver(
    call: Call<"attempt">,
    cause: unknown,
    failure: GatewayError,
  ): boolean {
    const { attemptsMax, retries } = this.#parts;
    if (call.isGone || call.attemptCount >= attemptsMax) return false;
    const { body } = call.sniffed;
    const may = mayTryAgain({
      isUpstreamFault: failure.row.fault === "upstream",
      hasResponse: !(cause instanceof UpstreamError) || cause.hasResponse,
      sent: !(cause instanceof UpstreamError) || cause.sent,
      method: call.request.head.method,
      isReplayable: body === undefined || body instanceof Uint8Array,
    });
    return may && retries.spend();
  }

  /**
   * Admits the call once more, elsewhere.
   *
   * @throws {GatewayError} `failure` when nobody else can take it.
   */
  async #failOver(
    call: Call<"attempt">,
    failure: GatewayError,
  ): Promise<Call<"attempt">> {
    const { outside, placement } = this.#parts;
    const { placed, pool } = call;
    placement.settle(placed, outside.clock.nowMs());
    (call.tried ??= []).push(placed.slot);
    const admitting = this.#transitions.advance(call, "admit", pool);
    try {
      return await this.#admit(admitting);
    } catch (cause) {
      if (cause instanceof GatewayError && cause.code === "client_gone") {
        throw cause;
      }
      // The failure that there was is the answer.
      throw failure;
    }
  }
}

/** Has `leave` called when the client leaves, in place of what was before. */
function watchClient(call: Call, leave: () => void): void {
  call.leave = leave;
  call.request.onGone(leave);
}

/** An attempt that was given up without the client's leave: at stopping. */
export function failureOf(
  call: Call<"attempt" | "relay">,
  cause: unknown,
): GatewayError {
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
