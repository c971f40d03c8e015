/**
 * The life of a request: accept, sniff, key, rank, admit, attempt, relay,
 * settle, one function a phase, in this order. Each takes a call in its phase
 * and returns it in the next one; `attempts.ts` has admit and attempt.
 *
 * Invariant: every request that was accepted is answered once and settles
 * once; what it reserved is given back whichever way it ends.
 *
 * @module
 */
import type { Budget } from "../core/counting/budget.ts";
import { asGatewayError, GatewayError } from "../core/error.ts";
import type { KeyPlan } from "../core/scan/key_plan.ts";
import type { Socket } from "../core/outside.ts";
import { headerValue } from "../core/request.ts";
import { checkHead } from "./accept.ts";
import type { AccessLog } from "./access_log.ts";
import { type AttemptParts, Attempts, failureOf } from "./attempts.ts";
import type { Authentication } from "./authentication.ts";
import { type Call, signed } from "./call.ts";
import type { Tracer } from "./call_trace.ts";
import type { CapacityEvidence } from "./capacity_evidence.ts";
import type { Answer, ClientRequest } from "./client_request.ts";
import { errorAnswer, errorEvent } from "./error_answer.ts";
import { readHints } from "./hints.ts";
import type { Inflate } from "./inflate.ts";
import { type LiveCall, oldestCalls } from "./live_calls.ts";
import { checkModel, sniffNeeds } from "./model_permission.ts";
import type { OpenPhase } from "./phase.ts";
import { ProgressWatch } from "./progress.ts";
import { queuedAnswer } from "./queued_answer.ts";
import { RelayedBody, type RelayEnd } from "./relay.ts";
import { RequestIds } from "./request_ids.ts";
import { isEventStream, isServed } from "./response_kind.ts";
import { type Sniffed, Sniffer, type SniffLimits } from "./sniff.ts";
import { StreamMeter } from "./stream_meter.ts";
import { Transitions } from "./transitions.ts";
import { Tunnels } from "./tunnels/tunnels.ts";
import { handshakeOf } from "./tunnels/websocket_handshake.ts";

/** Everything a gateway is made of. */
export interface GatewayParts extends AttemptParts {
  readonly plan: KeyPlan;
  readonly inflate: Inflate;
  readonly limits: SniffLimits;
  readonly budget: Budget;
  /** Absent where clients need no API key. */
  readonly authentication?: Authentication | undefined;
  readonly evidence: CapacityEvidence;
  readonly access: AccessLog;
  /** `undefined` while nothing is traced. */
  readonly tracer: Tracer | undefined;
  /** Between two signs of life to a stream that waits; off if `undefined`. */
  readonly keepaliveMs: number | undefined;
}

/** Takes requests and answers them; holds no state of its own but its parts. */
export class Gateway {
  readonly #parts: GatewayParts;
  readonly #sniffer: Sniffer;
  readonly #transitions: Transitions;
  readonly #attempts: Attempts;
  readonly #progress: ProgressWatch;
  readonly #ids: RequestIds;
  readonly #tunnels: Tunnels;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
    this.#ids = new RequestIds(parts.outside.random);
    const { clock, random } = parts.outside;
    const { times, tunnels } = parts.traffic;
    this.#transitions = new Transitions({ ...parts, times });
    this.#attempts = new Attempts(parts, this.#transitions);
    this.#tunnels = new Tunnels({ clock, random, traffic: tunnels });
    this.#progress = new ProgressWatch(clock, parts.limits.progressMs);
    this.#sniffer = new Sniffer({ ...parts, progress: this.#progress });
  }

  /** Answers a request; never rejects. */
  async handle(request: ClientRequest): Promise<Answer> {
    const call = this.#begin(request);
    try {
      const sniffing = this.#accept(call);
      const keyed = this.#sniffed(sniffing, await this.#sniff(sniffing));
      const ranking = this.#key(keyed);
      const admitting = this.#rank(ranking);
      // Not by `#finish`: each promise on the way is one more for all requests.
      return this.#parts.keepaliveMs === undefined
        ? this.#relay(await this.#attempts.run(admitting))
        : this.#keepAlive(admitting, this.#parts.keepaliveMs);
    } catch (cause) {
      return this.#fail(call, asGatewayError(cause));
    }
  }

  /** The oldest requests under way, at most `count`. */
  live(count: number): LiveCall[] {
    const { outside, plan } = this.#parts;
    const { underWay } = this.#transitions;
    return oldestCalls(underWay, { count, nowMs: outside.clock.nowMs(), plan });
  }

  /** Closes the tunnels with 1001, which no listener waits for. */
  stopTunnels(): void {
    this.#tunnels.stop();
  }

  /**
   * Stops its timers and tunnels, and answers what waits in its queue; other
   * requests end by themselves.
   */
  close(): void {
    this.#parts.admission.close();
    this.#progress.close();
    this.#tunnels.close();
  }

  #begin(request: ClientRequest): Call<"accept"> {
    this.#parts.traffic.received();
    const id = this.#ids.idOf(request.head.headers);
    return this.#transitions.begin(request, id);
  }

  /** Accept: takes a request's place, and refuses what has two readings. */
  #accept(call: Call<"accept">): Call<"sniff"> {
    const { authentication, budget, outside } = this.#parts;
    if (!budget.takeRequest()) throw new GatewayError("gateway_full");
    call.holdsRequest = true;
    const { head } = call.request;
    checkHead(head);
    authentication?.admit(call);
    call.hints = readHints(head.headers);
    call.handshake = handshakeOf(head, outside.random);
    return this.#transitions.advance(call, "sniff");
  }

  /** Sniff: looks into the body as far as the key and the model need it. */
  #sniff({ request, tenancy }: Call<"sniff">): Sniffed | Promise<Sniffed> {
    const { needsModel } = this.#parts.routes;
    const needs = sniffNeeds(needsModel, tenancy?.settings);
    return this.#sniffer.sniff(request, needs);
  }

  #sniffed(call: Call<"sniff">, sniffed: Sniffed): Call<"key"> {
    const { tenancy } = call;
    if (tenancy !== undefined) sniffed.scopeTo(tenancy);
    return this.#transitions.advance(call, "key", sniffed);
  }

  /** Key: the best source has won; says which it was. */
  #key(call: Call<"key">): Call<"rank"> {
    const { traffic } = this.#parts;
    const { sniffed } = call;
    traffic.keyed(sniffed.found?.sourceIndex ?? -1);
    if (sniffed.gaveUp) traffic.scannerGaveUp();
    if (sniffed.windowFull) traffic.sniffWindowFull();
    return this.#transitions.advance(call, "rank");
  }

  /** Rank: finds the pool; the order within is drawn as far as it is asked. */
  #rank(call: Call<"rank">): Call<"admit"> {
    checkModel(call);
    const pool = this.#parts.routes.poolFor(call.sniffed.model);
    if (pool === undefined) {
      throw new GatewayError("model_unknown", { param: "model" });
    }
    return this.#transitions.advance(call, "admit", pool);
  }

  /** Admit, attempt and relay; never rejects. */
  async #finish(call: Call<"admit">): Promise<Answer> {
    try {
      return this.#relay(await this.#attempts.run(call));
    } catch (cause) {
      return this.#fail(call, asGatewayError(cause));
    }
  }

  #keepAlive(call: Call<"admit">, everyMs: number): Promise<Answer> {
    const { outside: { clock }, plan } = this.#parts;
    const answering = this.#finish(call);
    const headers = () => signed(call, [], plan);
    return queuedAnswer({ call, answering, everyMs, headers, clock });
  }

  /** Relay: the answer on its way to the client, at whose end it settles. */
  #relay(call: Call<"relay">): Answer {
    const { upgraded } = call.response;
    return upgraded === undefined
      ? this.#relayBody(call)
      : this.#relayTunnel(call, upgraded);
  }

  #relayBody(call: Call<"relay">): Answer {
    const { evidence, forwarding, outside, plan, traffic } = this.#parts;
    const { response } = call;
    const { status, body } = response;
    const isStreamed = body !== undefined && !(body instanceof Uint8Array);
    // The length of a body that is here is known to whoever writes it.
    const keepsLength = isStreamed
      ? body.length !== undefined
      : body === undefined;
    const headers = forwarding.answerHeaders(call, keepsLength);
    const isEvents = isEventStream(response);
    if (isEvents) headers.push(["x-accel-buffering", "no"]);
    const answer = { status, headers: signed(call, headers, plan) };
    const isAwaited = isStreamed && isEvents;
    const kind = isEvents ? "stream" : "whole";
    if (!isAwaited) evidence.answered(call, kind, call.sinceMs);
    if (!isStreamed) {
      traffic.firstByte(call.placed, call.acceptedAtMs, call.sinceMs);
      traffic.relayed(call.placed, body?.length ?? 0);
      this.#endRelay(call, { kind: "complete" });
      return { ...answer, body };
    }
    const meter = new StreamMeter(call, {
      clock: outside.clock,
      traffic,
      onFirst: (nowMs) => {
        if (isAwaited) evidence.answered(call, kind, nowMs);
      },
    });
    const relayed = new RelayedBody(body, {
      errorEvent: isEvents
        ? (error) => errorEvent(error, call.request.head.target, call.id)
        : undefined,
      asError: (cause) => failureOf(call, cause),
      drainsWhenGone: call.target.finishes,
      onBytes: (byteCount) => meter.count(byteCount),
      onEnd: (end) => this.#endRelay(call, end),
    });
    return { ...answer, body: relayed };
  }

  /** The answer that the listener turns into a socket. */
  #relayTunnel(call: Call<"relay">, socket: Socket): Answer {
    const { forwarding, outside, plan, traffic } = this.#parts;
    const { status, headers } = call.response;
    traffic.firstByte(call.placed, call.acceptedAtMs, call.sinceMs);
    const tunnel = this.#tunnels.open(socket, {
      protocol: headerValue(headers, "sec-websocket-protocol"),
      onEnd: (end, cause) => {
        outside.log("debug", "tunnel.closed", { request_id: call.id, cause });
        this.#endRelay(call, end);
      },
    });
    const passed = forwarding.answerHeaders(call, false);
    const own = call.handshake?.answerHeaders(passed) ?? [];
    return {
      status,
      headers: signed(call, own, plan),
      body: undefined,
      tunnel,
    };
  }

  #endRelay(call: Call<"relay">, end: RelayEnd): void {
    if (end.kind === "broken") this.#attempts.noteFailure(call, end.error);
    this.#settle(call, end);
  }

  /** What failed before there was an answer to relay. */
  #fail(call: Call<OpenPhase>, error: GatewayError): Answer {
    const answer = errorAnswer(error, call.request.head.target, call.id);
    if (error.code !== "client_gone") call.bytesOut = answer.body.length;
    this.#settle(call, { kind: "broken", error });
    const headers = signed(call, answer.headers, this.#parts.plan);
    return { ...answer, headers };
  }

  /** Settle: gives back what the call holds and records how it ended. */
  #settle(open: Call<OpenPhase>, end: RelayEnd): void {
    const { access, traffic } = this.#parts;
    const call = this.#transitions.advance(open, "settle");
    this.#giveBack(call, end);
    if (end.kind === "complete") traffic.answered(call.response?.status ?? 0);
    else if (end.kind === "client_gone") traffic.failed("client_gone");
    else traffic.failed(end.error.code);
    access.settled(call, end);
    this.#transitions.end(call);
  }

  #giveBack(call: Call<"settle">, end: RelayEnd): void {
    const { admission, budget } = this.#parts;
    if (call.placed !== undefined) {
      admission.settle(call.placed, call.sinceMs, {
        isServed: end.kind === "complete" && isServed(call.response),
        isFinal: call.hints.isFinal,
      });
    }
    call.sniffed?.release();
    call.tenancy?.settle(end, call.response?.status ?? 0);
    if (call.holdsRequest) budget.giveRequest();
  }
}
