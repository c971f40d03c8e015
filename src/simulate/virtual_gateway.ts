/**
 * The gateway's own placement, session accounting and queue on a virtual
 * clock, with nothing around them: no sockets, no bodies, no failures.
 *
 * What stands here is what `src/gateway/` does with them, less what can go
 * wrong: place, or hold and wait, then answer and settle.
 *
 * Limits of engines are learned from how soon they answer, as a real gateway
 * does unless it is told; gauges of the engines' own are not simulated.
 *
 * Invariant: only real parts decide. A contender whose calls wait in the
 * engines has no limits, so that the queue is never reached.
 *
 * @module
 */
import { CapacityTable } from "../core/endpoints/capacity_table.ts";
import { EndpointChoice } from "../core/placement/endpoint_choice.ts";
import { EndpointSlots } from "../core/endpoints/endpoint_slots.ts";
import { EndpointTable } from "../core/endpoints/endpoint_table.ts";
import { hashBytes, type KeyHash } from "../core/hash.ts";
import { Ledger } from "../core/placement/ledger.ts";
import {
  type Placed,
  Placement,
  type PlaceRequest,
} from "../core/placement/placement.ts";
import { type Pool, Pools } from "../core/placement/pool.ts";
import { buildPools } from "../core/placement/pool_plan.ts";
import { QueueBoard } from "../core/queue/queue_board.ts";
import type { SchedulingPolicy } from "../core/scheduling_policy.ts";
import { SessionTable } from "../core/sessions/session_table.ts";
import { WaitQueue } from "../core/queue/wait_queue.ts";
import { urgencyOf, type UrgencySettings } from "../core/queue/urgency.ts";
import { rendezvous } from "../policies/rendezvous.ts";
import { roundRobin } from "../policies/round_robin.ts";
import type { Contender } from "./contenders.ts";
import type { LiveCall } from "./live_call.ts";

/** How calls wait; times in milliseconds, `Infinity` for never. */
export interface QueueSettings extends UrgencySettings {
  /** Calls in flight on an endpoint; `undefined` for a limit that is learned. */
  readonly inFlightMax: number | undefined;
}

/** What a virtual gateway is made of. */
export interface VirtualGatewayDeps {
  readonly endpointCount: number;
  readonly contender: Contender;
  readonly queue: QueueSettings;
  readonly random: () => number;
  /** Hands a call to an engine. */
  readonly start: (engine: number, call: LiveCall, nowMs: number) => void;
  /** Hears of a call that waited for too long. */
  readonly shed: (call: LiveCall, nowMs: number) => void;
}

/** Sessions of a run: far more than are alive at once. */
const SESSIONS_MAX = 65_536;

/** As the configuration's default. */
const IDLE_TTL_MS = 1_800_000;

/** As the configuration's default. */
const IMBALANCE = 1.25;

/** Calls of a run that wait at once; a real gateway sheds far earlier. */
const WAITING_MAX = 1_000_000;

/** Calls of a run in flight at once. */
const CALLS_MAX = 262_144;

/** The settings of a contender whose calls wait in their order alone. */
const NEVER = {
  boostRatio: Infinity,
  overdueMs: Infinity,
  timeoutMs: Infinity,
} as const;

/** Bytes of a request's body for each token of its prompt: English text. */
const TOKEN_BYTES = 4;

/** One gateway of one worker. */
export class VirtualGateway {
  readonly #deps: VirtualGatewayDeps;
  readonly #sessions = SessionTable.create({
    capacity: SESSIONS_MAX,
    idleTtlMs: IDLE_TTL_MS,
    epochMs: 0,
  });
  readonly #policy: SchedulingPolicy;
  readonly #placement: Placement;
  readonly #queue: WaitQueue;
  readonly #pool: Pool;
  readonly #capacity: CapacityTable;
  /** Placed calls that have not ended, by id. */
  readonly #placed: (Placed | undefined)[] = [];
  #spills = 0;

  constructor(deps: VirtualGatewayDeps) {
    this.#deps = deps;
    const { contender, queue } = deps;
    const endpoints = new EndpointTable();
    const isQueueing = contender.waitsIn === "gateway";
    this.#pool = poolOf(
      endpoints,
      deps.endpointCount,
      isQueueing ? queue.inFlightMax ?? 0 : 0,
    );
    this.#capacity = new CapacityTable(endpoints);
    if (isQueueing && queue.inFlightMax === undefined) {
      for (let index = 0; index < this.#pool.count; index++) {
        this.#capacity.setLearning(this.#pool.slot(index), true);
      }
    }
    this.#queue = new WaitQueue({
      board: QueueBoard.create(1),
      endpoints,
      worker: 0,
      callsMax: WAITING_MAX,
    });
    const { random } = deps;
    this.#policy = contender.policy.create();
    this.#placement = new Placement({
      sessions: this.#sessions,
      choice: new EndpointChoice({
        sessions: this.#sessions,
        endpoints,
        policy: rendezvous.create({ random }),
        fallback: roundRobin.create({ random }),
        imbalance: IMBALANCE,
      }),
      ledger: Ledger.create(CALLS_MAX),
      places: this.#queue,
    });
  }

  /** Calls that were served away from their session's endpoint. */
  get spills(): number {
    return this.#spills;
  }

  /** When `tick` next has something to do; `Infinity` for never. */
  get nextAtMs(): number {
    return this.#queue.nextAtMs;
  }

  tick(nowMs: number): void {
    this.#queue.tick(nowMs);
  }

  /** Takes a call that has arrived. */
  arrive(call: LiveCall, nowMs: number): void {
    const { contender, queue } = this.#deps;
    const request: PlaceRequest = {
      key: contender.hasAffinity ? keyOf(call.program) : undefined,
      pool: this.#pool,
      nowMs,
      isPatient: contender.waitsIn === "gateway" && queue.patienceMs > 0,
    };
    const result = this.#placement.place(request);
    if (result.kind === "placed") this.#start(call, result, nowMs);
    else this.#wait(call, request, nowMs);
  }

  /** Notes that an engine has sent a call's first token. */
  answered(call: LiveCall): void {
    const placed = this.#placed[call.id];
    if (placed === undefined) return;
    this.#placement.answered(placed);
    this.#capacity.answered(placed.slot, {
      kind: "stream",
      requestBytes: TOKEN_BYTES * call.promptTokens,
      firstByteMs: call.firstTokenAtMs - placed.placedAtMs,
      inFlightAtStart: placed.inFlight,
      nowMs: call.firstTokenAtMs,
    });
  }

  /** Notes that an engine has sent a call's last token. */
  ended(call: LiveCall, nowMs: number): void {
    const placed = this.#placed[call.id];
    if (placed === undefined) return;
    this.#placed[call.id] = undefined;
    this.#policy.served?.(nowMs - placed.placedAtMs);
    this.#placement.settle(placed, nowMs, { isServed: true, isFinal: false });
  }

  #wait(call: LiveCall, request: PlaceRequest, nowMs: number): void {
    const placement = this.#placement;
    const held = placement.hold(request);
    if (held === undefined) return this.#deps.shed(call, nowMs);
    const { contender, queue } = this.#deps;
    const settings = contender.hasPromotion ? queue : { ...queue, ...NEVER };
    const pool = this.#pool;
    const parts = {
      placement,
      settings,
      scheduling: this.#policy,
      sessions: this.#sessions,
    };
    const expectedMs = contender.policy.name === "oracle"
      ? call.remainingMs
      : undefined;
    this.#queue.add({
      ...urgencyOf(parts, { request, held }, { expectedMs, priority: 0 }),
      pool,
      tried: undefined,
      poolNow: () => pool,
      granted: (slot, atMs, { isBoosted }) => {
        const placed = placement.placeHeld(
          { ...request, nowMs: atMs },
          held,
          { slot, isBoosted },
        );
        this.#start(call, placed, atMs);
      },
      gaveUp: () => {
        placement.letGo(held, nowMs + queue.timeoutMs);
        this.#deps.shed(call, nowMs + queue.timeoutMs);
      },
    }, nowMs);
  }

  #start(call: LiveCall, placed: Placed, nowMs: number): void {
    this.#placed[call.id] = placed;
    if (placed.outcome === "spilled") this.#spills++;
    this.#deps.start(placed.index, call, nowMs);
  }
}

function poolOf(
  endpoints: EndpointTable,
  count: number,
  inFlightMax: number,
): Pool {
  const ids = Array.from({ length: count }, (_, index) => `engine-${index}`);
  const slots = new EndpointSlots(endpoints).assign(ids);
  const planned = ids.map((id) => {
    const at = slots.get(id);
    if (at === undefined) throw new Error(`Cannot find a slot of "${id}"`);
    endpoints.setState(at.slot, "ready");
    endpoints.setLimit(at.slot, inFlightMax);
    return { id, weight: 1, models: undefined, ...at };
  });
  return new Pools(buildPools(planned), endpoints).whole;
}

function keyOf(program: number): KeyHash {
  return hashBytes(new TextEncoder().encode(`program-${program}`));
}
