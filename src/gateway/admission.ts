/**
 * The admit phase: a place on an endpoint, at once or after waiting for it.
 *
 * A call whose session's endpoint is full is patient for a while before any
 * other endpoint will do; a call that no endpoint has room for waits in the
 * queue (`core/queue/wait_queue.ts`), in the order of the scheduling policy.
 *
 * Invariant: a call that waits holds its session and nothing else. It ends in
 * a place, in an error of the table, or with its client, and is gone from the
 * queue in that same step. While calls wait, the queue is looked after every
 * `TICK_MS`, whatever wakes it besides.
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import type { Outside } from "../core/outside.ts";
import type {
  Ending,
  Held,
  Placed,
  PlaceRequest,
} from "../core/placement/placement.ts";
import type { Pool } from "../core/placement/pool.ts";
import {
  urgencyOf,
  type UrgencyParts,
  type UrgencySettings,
} from "../core/queue/urgency.ts";
import type { WaitQueue } from "../core/queue/wait_queue.ts";
import type { GiveUpReason } from "../core/queue/waiting_call.ts";
import type { Hints } from "./hints.ts";
import type { Tenancy } from "./tenancy.ts";

/**
 * 50 ms: the safety net under hand-over, and how late a change that comes
 * with time is noticed. Limits of waiting are seconds.
 */
const TICK_MS = 50;

/** What is configured; durations of `Infinity` never end. */
export interface QueueSettings extends UrgencySettings {
  /** Whether calls wait at all. */
  readonly isOn: boolean;
  /** Calls of one session at once beyond which another does not wait. */
  readonly sessionMax: number;
  /** Bounds of the priority that a client may give. */
  readonly priorityMin: number;
  readonly priorityMax: number;
}

/** What admission is made of. */
export interface AdmissionParts extends UrgencyParts {
  readonly outside: Outside;
  readonly queue: WaitQueue;
  readonly settings: QueueSettings;
}

/** A call that asks for a place. */
export interface AdmissionCall {
  readonly request: PlaceRequest;
  readonly hints: Hints;
  /** Whose call it is; it bounds how many of them wait. */
  readonly tenancy?: Tenancy | undefined;
  /** The pool of its model after a change of the routes. */
  readonly poolNow: () => Pool | undefined;
  /** Has the callback called if the client leaves. */
  readonly onGone: (callback: () => void) => void;
}

/** Admits the calls of one worker. */
export class Admission {
  readonly #parts: AdmissionParts;
  #cancelTick: (() => void) | undefined;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Calls that wait in this worker. */
  get waitingCount(): number {
    return this.#parts.queue.size;
  }

  /**
   * Reserves a place; a promise only when the call has to wait for it.
   *
   * @throws {GatewayError} when it may not wait; the promise rejects with one
   * when it has waited too long, or its client has left.
   */
  admit(call: AdmissionCall): Placed | Promise<Placed> {
    const { placement, settings } = this.#parts;
    const isPatient = settings.isOn && settings.patienceMs > 0 &&
      call.request.tried === undefined;
    const request = isPatient ? { ...call.request, isPatient } : call.request;
    const placed = placement.place(request);
    if (placed.kind === "placed") return placed;
    if (placed.code === "no_eligible_endpoint" || !settings.isOn) {
      throw new GatewayError(placed.code);
    }
    return this.#wait(call);
  }

  /** Gives back what a placed call holds, and learns from how it was served. */
  settle(placed: Placed, nowMs: number, ending: Ending): void {
    const { placement, scheduling } = this.#parts;
    if (ending.isServed) scheduling.served?.(nowMs - placed.placedAtMs);
    placement.settle(placed, nowMs, ending);
  }

  /** Takes the places that other workers have handed over. */
  collect(): void {
    const { outside, queue } = this.#parts;
    queue.collect(outside.clock.nowMs());
  }

  /** Puts waiting calls where they belong after a change of the routes. */
  reroute(): void {
    const { outside, queue } = this.#parts;
    queue.reroute(outside.clock.nowMs());
  }

  /** Answers every call that waits: the gateway stops. */
  close(): void {
    this.#parts.queue.giveUpAll("stopping");
    this.#cancelTick?.();
    this.#cancelTick = undefined;
  }

  #wait(call: AdmissionCall): Promise<Placed> {
    const { outside, placement, queue } = this.#parts;
    const { request } = call;
    const { nowMs } = request;
    // Given back by whoever made the call, however it ends.
    call.tenancy?.takeWaiting();
    const held = this.#hold(request);
    const { promise, resolve, reject } = Promise.withResolvers<Placed>();
    const giveUp = (error: GatewayError) => {
      placement.letGo(held, outside.clock.nowMs());
      reject(error);
    };
    const waiting = queue.add({
      ...urgencyOf(this.#parts, { request, held }, {
        expectedMs: call.hints.expectedMs,
        priority: this.#priority(call),
      }),
      pool: request.pool,
      tried: request.tried,
      poolNow: call.poolNow,
      granted: (slot, grantedAtMs, { isBoosted, pool }) => {
        const granted = { ...request, pool, nowMs: grantedAtMs };
        resolve(placement.placeHeld(granted, held, { slot, isBoosted }));
      },
      gaveUp: (reason) => giveUp(errorOf(reason)),
    }, nowMs);
    if (waiting === undefined) {
      placement.letGo(held, nowMs);
      throw new GatewayError("queue_full");
    }
    call.onGone(() => {
      if (queue.remove(waiting)) giveUp(new GatewayError("client_gone"));
    });
    this.#keepTicking();
    return promise;
  }

  /** @throws {GatewayError} when the session or the worker has too many. */
  #hold(request: PlaceRequest): Held {
    const { placement, sessions, settings } = this.#parts;
    const held = placement.hold(request);
    if (held === undefined) throw new GatewayError("queue_full");
    const { record } = held;
    if (record >= 0 && sessions.pins(record) > settings.sessionMax) {
      placement.letGo(held, request.nowMs);
      throw new GatewayError("session_queue_full");
    }
    return held;
  }

  /** Within what the operator lets this client ask for. */
  #priority({ hints, tenancy }: AdmissionCall): number {
    const { settings } = this.#parts;
    return Math.min(
      Math.max(hints.priority, settings.priorityMin),
      tenancy?.settings.priorityMax ?? settings.priorityMax,
    );
  }

  #keepTicking(): void {
    if (this.#cancelTick !== undefined) return;
    const { outside, queue } = this.#parts;
    this.#cancelTick = outside.clock.after(TICK_MS, () => {
      this.#cancelTick = undefined;
      queue.tick(outside.clock.nowMs());
      if (queue.size > 0) this.#keepTicking();
    });
  }
}

function errorOf(reason: GiveUpReason): GatewayError {
  switch (reason) {
    case "timeout":
      return new GatewayError("queue_timeout");
    case "unserved":
      return new GatewayError("no_eligible_endpoint");
    case "stopping":
      return new GatewayError("gateway_stopping");
  }
}
