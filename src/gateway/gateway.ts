/**
 * The life of a request: accept, sniff, key, rank, admit, attempt, relay,
 * settle, one function a phase, in this order.
 *
 * Invariant: every request that was accepted is answered once and settles
 * once; what it reserved is given back whichever way it ends.
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import type { KeyPlan } from "../core/key_plan.ts";
import type { Outside } from "../core/outside.ts";
import type { AffinityOutcome, Placed, Placement } from "../core/placement.ts";
import { type Header, headerValue } from "../core/request.ts";
import type { UpstreamClient, UpstreamResponse } from "../upstream/client.ts";
import { checkHead } from "./accept.ts";
import type { Answer, ClientRequest } from "./client_request.ts";
import { asGatewayError, errorAnswer, errorEvent } from "./error_answer.ts";
import {
  acceptableRequestId,
  answerHeaders,
  upstreamHeaders,
} from "./headers.ts";
import type { Inflate } from "./inflate.ts";
import { RelayedBody, type RelayEnd } from "./relay.ts";
import type { Routes, Target } from "./routes.ts";
import { type Sniffed, Sniffer, type SniffLimits } from "./sniff.ts";
import type { Traffic } from "./traffic.ts";
import { asUpstreamFailure } from "./upstream_failure.ts";

/** The highest status there is (RFC 9110, 15); listeners refuse others. */
const STATUS_MAX = 599;

/** Everything a gateway is made of. */
export interface GatewayParts {
  readonly outside: Outside;
  readonly plan: KeyPlan;
  readonly placement: Placement;
  readonly routes: Routes;
  readonly upstream: UpstreamClient;
  readonly inflate: Inflate;
  readonly limits: SniffLimits;
  readonly traffic: Traffic;
}

/** One request on its way. */
interface Call {
  readonly request: ClientRequest;
  readonly id: string;
  sniffed: Sniffed | undefined;
  /** What is reserved; `undefined` before admission and once settled. */
  placed: Placed | undefined;
  target: Target | undefined;
  outcome: AffinityOutcome;
  attemptCount: number;
}

/** Takes requests and answers them; holds no state of its own but its parts. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #sniffer: Sniffer;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.#sniffer = new Sniffer(parts.plan, parts.limits, parts.inflate);
  }

  /** Answers a request; never rejects. */
  async handle(request: ClientRequest): Promise<Answer> {
    const call = this.#accept(request);
    try {
      checkHead(request.head);
      call.sniffed = await this.#sniff(call);
      this.#admit(call, call.sniffed);
      const response = await this.#attempt(call);
      return this.#relay(call, response);
    } catch (cause) {
      return this.#fail(call, asGatewayError(cause));
    }
  }

  #accept(request: ClientRequest): Call {
    this.#parts.traffic.received();
    const given = headerValue(request.head.headers, "x-request-id");
    const id = acceptableRequestId(given) ?? newRequestId(this.#parts.outside);
    return {
      request,
      id,
      sniffed: undefined,
      placed: undefined,
      target: undefined,
      outcome: "none",
      attemptCount: 0,
    };
  }

  /** Sniff and key: the session key, the model and the body to forward. */
  async #sniff(call: Call): Promise<Sniffed> {
    const { routes, traffic } = this.#parts;
    const sniffed = await this.#sniffer.sniff(
      call.request,
      routes.needsModel,
    );
    traffic.keyed(sniffed.found?.sourceIndex ?? -1);
    if (sniffed.gaveUp) traffic.scannerGaveUp();
    if (sniffed.windowFull) traffic.sniffWindowFull();
    return sniffed;
  }

  /** Rank and admit: one synchronous decision that reserves its endpoint. */
  #admit(call: Call, sniffed: Sniffed): void {
    const { outside, placement, routes, traffic } = this.#parts;
    const pool = routes.poolFor(sniffed.model);
    if (pool === undefined) {
      throw new GatewayError("model_unknown", { param: "model" });
    }
    const placed = placement.place({
      key: sniffed.found?.hash,
      pool,
      nowMs: outside.clock.nowMs(),
    });
    if (placed.kind === "refused") throw new GatewayError(placed.code);
    call.placed = placed;
    call.outcome = placed.outcome;
    call.target = routes.target(placed.slot);
    traffic.attempted(placed.outcome);
  }

  /** One try at the endpoint that was chosen; resolves with its head. */
  async #attempt(call: Call): Promise<UpstreamResponse> {
    const { placement, upstream } = this.#parts;
    const { placed, request, sniffed, target } = call;
    if (placed === undefined || target === undefined) {
      throw new Error("Cannot attempt a call that has not been admitted");
    }
    const { head } = request;
    call.attemptCount += 1;
    try {
      const exchange = upstream.start({
        address: target.address,
        method: head.method,
        target: target.basePath + head.target,
        headers: upstreamHeaders(head.headers, {
          host: target.host,
          requestId: call.id,
          clientAddress: request.clientAddress,
          scheme: request.scheme,
        }),
        body: sniffed?.body,
        contentLength: sniffed?.contentLength,
      });
      request.onGone(() => exchange.abort());
      const response = await exchange.response;
      if (response.status > STATUS_MAX) {
        exchange.abort();
        throw new GatewayError("upstream_malformed");
      }
      if (response.status < 500) placement.answered(placed);
      return response;
    } catch (cause) {
      const failure = asUpstreamFailure(cause);
      if (failure.row.fault === "upstream") placement.failed(placed);
      throw failure;
    }
  }

  /** The answer as it goes to the client; settles at its end. */
  #relay(call: Call, response: UpstreamResponse): Answer {
    const { status, body } = response;
    if (body === undefined || body instanceof Uint8Array) {
      this.#parts.traffic.relayed(body?.length ?? 0);
      this.#settle(call, { kind: "complete" }, status);
      const headers = answerHeaders(response.headers, body === undefined);
      return { status, headers: this.#signed(call, headers), body };
    }
    const headers = answerHeaders(response.headers, body.length !== undefined);
    const isEvents = isEventStream(response);
    if (isEvents) headers.push(["x-accel-buffering", "no"]);
    const relayed = new RelayedBody(body, {
      errorEvent: isEvents
        ? (error) => errorEvent(error, call.request.head.target, call.id)
        : undefined,
      asError: asUpstreamFailure,
      onBytes: (byteCount) => this.#parts.traffic.relayed(byteCount),
      onEnd: (end) => this.#settle(call, end, status),
    });
    return { status, headers: this.#signed(call, headers), body: relayed };
  }

  /** Gives back what the call reserved and records how it ended. */
  #settle(call: Call, end: RelayEnd, status: number): void {
    const { outside, placement, traffic } = this.#parts;
    const { placed } = call;
    if (placed !== undefined) {
      if (end.kind === "broken") placement.failed(placed);
      placement.settle(placed, outside.clock.nowMs());
      call.placed = undefined;
    }
    if (end.kind === "complete") traffic.answered(status);
    else if (end.kind === "client_gone") traffic.failed("client_gone");
    else {
      traffic.failed(end.error.code);
      this.#logFailure(call, end.error);
    }
  }

  #fail(call: Call, error: GatewayError): Answer {
    const { outside, placement, traffic } = this.#parts;
    if (call.placed !== undefined) {
      placement.settle(call.placed, outside.clock.nowMs());
      call.placed = undefined;
    }
    traffic.failed(error.code);
    this.#logFailure(call, error);
    const { target } = call.request.head;
    const answer = errorAnswer(error, target, call.id);
    return { ...answer, headers: this.#signed(call, answer.headers) };
  }

  #logFailure(call: Call, error: GatewayError): void {
    const isOurs = error.code === "internal_error";
    const cause = error.cause instanceof Error ? error.cause : undefined;
    this.#parts.outside.log(isOurs ? "error" : "info", "request.failed", {
      request_id: call.id,
      code: error.code,
      endpoint: call.target?.id,
      cause: isOurs ? cause?.stack : cause?.message,
    });
  }

  /** The headers with the gateway's own: what happened, and why. */
  #signed(call: Call, headers: readonly Header[]): Header[] {
    const { plan } = this.#parts;
    const source = call.sniffed?.found?.sourceIndex;
    return [
      ...headers,
      ["x-request-id", call.id],
      ["x-tryst-endpoint", call.target?.publicId ?? "none"],
      ["x-tryst-affinity", call.outcome],
      [
        "x-tryst-key-source",
        source === undefined ? "none" : plan.sourceNames[source] ?? "none",
      ],
      ["x-tryst-attempts", String(call.attemptCount)],
    ];
  }
}

function isEventStream(response: UpstreamResponse): boolean {
  const type = headerValue(response.headers, "content-type");
  return type !== undefined && /^text\/event-stream\b/i.test(type) &&
    headerValue(response.headers, "content-encoding") === undefined;
}

/** 80 random bits in base 32: enough to be unique in any log. */
function newRequestId(outside: Outside): string {
  const high = Math.floor(outside.random() * 2 ** 40);
  const low = Math.floor(outside.random() * 2 ** 40);
  return `req-${high.toString(32).padStart(8, "0")}${
    low.toString(32).padStart(8, "0")
  }`;
}
