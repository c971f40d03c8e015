/**
 * One request on its way through the phases.
 *
 * Invariant: what a call holds (a place on an endpoint, a request's place in
 * the gateway) is noted here, so that settling can give back exactly that.
 *
 * @module
 */
import type { KeyPlan } from "../core/key_plan.ts";
import type { AffinityOutcome, Placed } from "../core/placement.ts";
import type { Pool } from "../core/pool.ts";
import type { Header } from "../core/request.ts";
import type { ClientRequest } from "./client_request.ts";
import type { Target } from "./routes.ts";
import type { Sniffed } from "./sniff.ts";
import type { Handshake } from "./websocket_handshake.ts";

/** One request. */
export interface Call {
  readonly request: ClientRequest;
  /** The same in every attempt. */
  readonly id: string;
  /** Present when a WebSocket is asked for. */
  handshake: Handshake | undefined;
  sniffed: Sniffed | undefined;
  /** Where the model is served; known once admitted. */
  pool: Pool | undefined;
  /** What is reserved; `undefined` before admission and once settled. */
  placed: Placed | undefined;
  target: Target | undefined;
  outcome: AffinityOutcome;
  attemptCount: number;
  /** Slots of endpoints that failed this call. */
  tried: number[] | undefined;
  isGone: boolean;
}

/** A call at its start. */
export function newCall(request: ClientRequest, id: string): Call {
  return {
    request,
    id,
    handshake: undefined,
    sniffed: undefined,
    pool: undefined,
    placed: undefined,
    target: undefined,
    outcome: "none",
    attemptCount: 0,
    tried: undefined,
    isGone: false,
  };
}

/** The headers with the gateway's own: what happened, and why. */
export function signed(
  call: Call,
  headers: readonly Header[],
  plan: KeyPlan,
): Header[] {
  const source = call.sniffed?.found?.sourceIndex;
  const sourceName = source === undefined
    ? undefined
    : plan.sourceNames[source];
  return [
    ...headers,
    ["x-request-id", call.id],
    ["x-tryst-endpoint", call.target?.publicId ?? "none"],
    ["x-tryst-affinity", call.outcome],
    ["x-tryst-key-source", sourceName ?? "none"],
    ["x-tryst-attempts", String(call.attemptCount)],
  ];
}
