/**
 * The life of a request: accept, sniff, key, rank, admit, attempt, relay,
 * settle, one function a phase, in this order.
 *
 * Invariant: every request that was accepted is answered once and settles
 * once; what it reserved is given back whichever way it ends.
 *
 * @module
 */
import type { Budget } from "../core/budget.ts";
import { GatewayError } from "../core/error.ts";
import type { KeyPlan } from "../core/key_plan.ts";
import type { Socket } from "../core/outside.ts";
import { headerValue } from "../core/request.ts";
import type { UpstreamResponse } from "../upstream/client.ts";
import { checkHead } from "./accept.ts";
import { type AttemptParts, Attempts, failureOf } from "./attempts.ts";
import { type Call, newCall, signed } from "./call.ts";
import type { Answer, ClientRequest } from "./client_request.ts";
import { asGatewayError, errorAnswer, errorEvent } from "./error_answer.ts";
import { acceptableRequestId, answerHeaders } from "./headers.ts";
import type { Inflate } from "./inflate.ts";
import { ProgressWatch } from "./progress.ts";
import { RelayedBody, type RelayEnd } from "./relay.ts";
import { type Sniffed, Sniffer, type SniffLimits } from "./sniff.ts";
import { Tunnels } from "./tunnels.ts";
import { handshakeOf } from "./websocket_handshake.ts";

/** Everything a gateway is made of. */
export interface GatewayParts extends AttemptParts {
  readonly plan: KeyPlan;
  readonly inflate: Inflate;
  readonly limits: SniffLimits;
  readonly budget: Budget;
}

/** Takes requests and answers them; holds no state of its own but its parts. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #sniffer: Sniffer;
  readonly #attempts: Attempts;
  readonly #progress: ProgressWatch;
  readonly #idPrefix: string;
  #requestCount = 0;
  readonly #tunnels: Tunnels;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.#idPrefix = requestIdPrefix(parts.outside.random);
    this.#attempts = new Attempts(parts);
    const { clock, random } = parts.outside;
    const { tunnels } = parts.traffic;
    this.#tunnels = new Tunnels({ clock, random, traffic: tunnels });
    this.#progress = new ProgressWatch(clock, parts.limits.progressMs);
    this.#sniffer = new Sniffer({ ...parts, progress: this.#progress });
  }

  /** Answers a request; never rejects. */
  async handle(request: ClientRequest): Promise<Answer> {
    const call = this.#accept(request);
    if (!this.#parts.budget.takeRequest()) {
      return this.#answerFailure(call, new GatewayError("gateway_full"));
    }
    try {
      checkHead(request.head);
      call.handshake = handshakeOf(request.head, this.#parts.outside.random);
      const { routes } = this.#parts;
      this.#noteSniffed(
        call,
        await this.#sniffer.sniff(request, routes.needsModel),
      );
      const response = await this.#attempts.run(call);
      return response.upgraded === undefined
        ? this.#relay(call, response)
        : this.#openTunnel(call, response, response.upgraded);
    } catch (cause) {
      return this.#fail(call, asGatewayError(cause));
    }
  }

  /** Closes the tunnels with 1001, which no listener waits for. */
  stopTunnels(): void {
    this.#tunnels.stop();
  }

  /** Stops its timers and tunnels; other requests end by themselves. */
  close(): void {
    this.#progress.close();
    this.#tunnels.close();
  }

  #accept(request: ClientRequest): Call {
    this.#parts.traffic.received();
    const given = headerValue(request.head.headers, "x-request-id");
    const id = acceptableRequestId(given) ?? this.#newRequestId();
    return newCall(request, id);
  }

  #newRequestId(): string {
    const count = (this.#requestCount++).toString(32);
    return this.#idPrefix + count.padStart(8, "0");
  }

  /** The key phase is over: what the sniff phase found is known. */
  #noteSniffed(call: Call, sniffed: Sniffed): void {
    const { traffic } = this.#parts;
    call.sniffed = sniffed;
    traffic.keyed(sniffed.found?.sourceIndex ?? -1);
    if (sniffed.gaveUp) traffic.scannerGaveUp();
    if (sniffed.windowFull) traffic.sniffWindowFull();
  }

  /** The answer as it goes to the client; settles at its end. */
  #relay(call: Call, response: UpstreamResponse): Answer {
    const { plan, traffic } = this.#parts;
    const { status, body } = response;
    const isStreamed = body !== undefined && !(body instanceof Uint8Array);
    // The length of a body that is here is known to whoever writes it.
    const keepsLength = isStreamed
      ? body.length !== undefined
      : body === undefined;
    const headers = answerHeaders(response.headers, keepsLength);
    const isEvents = isEventStream(response);
    if (isEvents) headers.push(["x-accel-buffering", "no"]);
    const answer = { status, headers: signed(call, headers, plan) };
    if (!isStreamed) {
      traffic.relayed(body?.length ?? 0);
      this.#settle(call, { kind: "complete" }, status);
      return { ...answer, body };
    }
    const relayed = new RelayedBody(body, {
      errorEvent: isEvents
        ? (error) => errorEvent(error, call.request.head.target, call.id)
        : undefined,
      asError: (cause) => failureOf(call, cause),
      drainsWhenGone: call.target?.finishes ?? false,
      onBytes: (byteCount) => traffic.relayed(byteCount),
      onEnd: (end) => this.#settle(call, end, status),
    });
    return { ...answer, body: relayed };
  }

  /** The answer that the listener turns into a socket; settles at its end. */
  #openTunnel(call: Call, response: UpstreamResponse, socket: Socket): Answer {
    const { outside, plan } = this.#parts;
    const { status } = response;
    const tunnel = this.#tunnels.open(socket, {
      protocol: headerValue(response.headers, "sec-websocket-protocol"),
      onEnd: (end, cause) => {
        outside.log("debug", "tunnel.closed", { request_id: call.id, cause });
        this.#settle(call, end, status);
      },
    });
    const headers = call.handshake?.answerHeaders(response.headers) ?? [];
    return {
      status,
      headers: signed(call, headers, plan),
      body: undefined,
      tunnel,
    };
  }

  /** Gives back what the call reserved and records how it ended. */
  #settle(call: Call, end: RelayEnd, status: number): void {
    const { traffic } = this.#parts;
    if (end.kind === "broken") this.#attempts.noteFailure(call, end.error);
    this.#giveBack(call);
    if (end.kind === "complete") traffic.answered(status);
    else if (end.kind === "client_gone") traffic.failed("client_gone");
    else {
      traffic.failed(end.error.code);
      this.#logFailure(call, end.error);
    }
  }

  #fail(call: Call, error: GatewayError): Answer {
    this.#giveBack(call);
    return this.#answerFailure(call, error);
  }

  #giveBack(call: Call): void {
    const { budget, outside, placement } = this.#parts;
    if (call.placed !== undefined) {
      placement.settle(call.placed, outside.clock.nowMs());
      call.placed = undefined;
    }
    call.sniffed?.release();
    budget.giveRequest();
  }

  #answerFailure(call: Call, error: GatewayError): Answer {
    const { plan, traffic } = this.#parts;
    traffic.failed(error.code);
    this.#logFailure(call, error);
    const answer = errorAnswer(error, call.request.head.target, call.id);
    return { ...answer, headers: signed(call, answer.headers, plan) };
  }

  #logFailure(call: Call, error: GatewayError): void {
    const isOurs = error.code === "internal_error";
    const cause = error.cause instanceof Error ? error.cause : undefined;
    this.#parts.outside.log(isOurs ? "error" : "info", "request.failed", {
      request_id: call.id,
      code: error.code,
      endpoint: call.target?.id,
      attempts: call.attemptCount,
      cause: isOurs ? cause?.stack : cause?.message,
    });
  }
}

function isEventStream(response: UpstreamResponse): boolean {
  const type = headerValue(response.headers, "content-type");
  return type !== undefined && /^text\/event-stream\b/i.test(type) &&
    headerValue(response.headers, "content-encoding") === undefined;
}

/** 40 random bits tell gateways apart; a count tells requests apart. */
function requestIdPrefix(random: () => number): string {
  const bits = Math.floor(random() * 2 ** 40);
  return `req-${bits.toString(32).padStart(8, "0")}`;
}
