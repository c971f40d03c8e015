/**
 * One request on its way through the phases, typed by the phase it is in.
 *
 * `Call<"relay">` has an endpoint, a place on it and a response; in
 * `Call<"sniff">` none of them is known, and the compiler says so. There is
 * one object a request. Only `transitions.ts` moves it on, and returns it
 * under its new type; whoever holds it under an older one has a stale
 * reference, with which it cannot be moved on.
 *
 * Invariant: what a call holds (a place on an endpoint, a request's place in
 * the gateway, sniff memory) is noted here, so that settling can give back
 * exactly that.
 *
 * @module
 */
import type { KeyPlan } from "../core/scan/key_plan.ts";
import type { AffinityOutcome, Placed } from "../core/placement/placement.ts";
import type { Pool } from "../core/placement/pool.ts";
import type { Header } from "../core/request.ts";
import type { UpstreamResponse } from "../upstream/client.ts";
import type { CallTrace } from "./call_trace.ts";
import type { ClientRequest } from "./client_request.ts";
import type { Way } from "./forwarding.ts";
import { type Hints, NO_HINTS } from "./hints.ts";
import type { Phase } from "./phase.ts";
import type { Target } from "./routes.ts";
import type { Sniffed } from "./sniff.ts";
import type { Tenancy } from "./tenancy.ts";
import type { Handshake } from "./tunnels/websocket_handshake.ts";

/** What becomes known of a call on its way. */
interface Gained {
  sniffed: Sniffed;
  /** Where the model is served. */
  pool: Pool;
  /** The place that is reserved on an endpoint. */
  placed: Placed;
  /** That endpoint; while there is none, the last one. */
  target: Target;
  response: UpstreamResponse;
}

/** Whatever is always known in each phase; the rest may be. */
interface KnownIn {
  accept: never;
  sniff: never;
  key: "sniffed";
  rank: "sniffed";
  admit: "sniffed" | "pool";
  attempt: "sniffed" | "pool" | "placed" | "target";
  relay: "sniffed" | "pool" | "placed" | "target" | "response";
  settle: never;
}

/** `Gained[Name]`, unless one of the phases does without it. */
type Known<In extends Phase, Name extends keyof Gained> = [In] extends [
  { [P in Phase]: Name extends KnownIn[P] ? P : never }[Phase],
] ? Gained[Name]
  : Gained[Name] | undefined;

/** What a transition into each phase brings along. */
export interface Gain extends Record<Phase, readonly unknown[]> {
  accept: [];
  sniff: [];
  key: [sniffed: Sniffed];
  rank: [];
  admit: [pool: Pool];
  attempt: [placed: Placed, target: Target];
  relay: [response: UpstreamResponse];
  settle: [];
}

/** Exists for the compiler alone: no other file can make up a call. */
declare const IN: unique symbol;

/** One request, in phase `In`. */
export interface Call<In extends Phase = Phase> {
  readonly [IN]: In;
  readonly phase: In;
  /** The place of that phase in `PHASES`. */
  readonly phaseIndex: number;
  /** When it entered that phase, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
  /** When it entered the first. */
  readonly acceptedAtMs: number;
  readonly request: ClientRequest;
  /** The same in every attempt. */
  readonly id: string;
  readonly sniffed: Known<In, "sniffed">;
  readonly pool: Known<In, "pool">;
  readonly placed: Known<In, "placed">;
  readonly target: Known<In, "target">;
  readonly response: Known<In, "response">;
  /** Of the last attempt; `none` before the first. */
  readonly outcome: AffinityOutcome;
  /** Whether it has taken a request's place in the gateway. */
  holdsRequest: boolean;
  /** Whose call it is; absent where clients need no API key. */
  tenancy: Tenancy | undefined;
  /** Where it comes from; known once somebody has asked. */
  way: Way | undefined;
  /** Present when a WebSocket is asked for. */
  handshake: Handshake | undefined;
  /** What its client says of it; known once it is accepted. */
  hints: Hints;
  /** How long it has waited for places, in milliseconds. */
  queueMs: number;
  attemptCount: number;
  /** Slots of endpoints that failed this call. */
  tried: number[] | undefined;
  /** When its answer began; negative until then. */
  firstByteAtMs: number;
  /** Of a streamed answer, handed on so far. */
  bytesOut: number;
  /** `undefined` when its trace context passes as it came. */
  trace: CallTrace | undefined;
  isGone: boolean;
  /** What happens when its client leaves. */
  leave: (() => void) | undefined;
  /** Its place among all calls under way; written by their roster alone. */
  rosterPlace: number;
}

/** A call at its start; `transitions.ts` alone calls this. */
export function newCall(
  request: ClientRequest,
  id: string,
  nowMs: number,
): Call<"accept"> {
  const call: Omit<Call<"accept">, typeof IN> = {
    phase: "accept",
    phaseIndex: 0,
    sinceMs: nowMs,
    acceptedAtMs: nowMs,
    request,
    id,
    sniffed: undefined,
    pool: undefined,
    placed: undefined,
    target: undefined,
    response: undefined,
    outcome: "none",
    holdsRequest: false,
    tenancy: undefined,
    way: undefined,
    handshake: undefined,
    hints: NO_HINTS,
    queueMs: 0,
    attemptCount: 0,
    tried: undefined,
    firstByteAtMs: -1,
    bytesOut: 0,
    trace: undefined,
    isGone: false,
    leave: undefined,
    rosterPlace: -1,
  };
  return call as Call<"accept">;
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
  const { tenancy } = call;
  const out = tenancy === undefined
    ? [...headers]
    : headers.filter(([name]) => !tenancy.answersFor(name));
  tenancy?.addHeaders(out);
  out.push(
    ["x-request-id", call.id],
    ["x-tryst-endpoint", call.target?.publicId ?? "none"],
    ["x-tryst-affinity", call.outcome],
    ["x-tryst-key-source", sourceName ?? "none"],
    ["x-tryst-queue-ms", String(Math.round(call.queueMs))],
    ["x-tryst-attempts", String(call.attemptCount)],
  );
  return out;
}
