/**
 * One gateway, put together from its parts: the same for a worker thread and
 * for a gateway within the process.
 *
 * Invariant: nothing here is shared between two gateways but the buffers they
 * are given.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { EndpointChoice } from "../core/endpoint_choice.ts";
import { Ledger } from "../core/ledger.ts";
import type { Outside } from "../core/outside.ts";
import { PassiveHealth } from "../core/passive_health.ts";
import { Placement } from "../core/placement.ts";
import { Register } from "../core/plugin.ts";
import type { QueueBoard } from "../core/queue_board.ts";
import { RetryBudget } from "../core/retry_budget.ts";
import type { SchedulingPolicy } from "../core/scheduling_policy.ts";
import { WaitQueue } from "../core/wait_queue.ts";
import { Admission, type QueueSettings } from "../gateway/admission.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { Inflate } from "../gateway/inflate.ts";
import { Routes, type RoutesData } from "../gateway/routes.ts";
import { Traffic } from "../gateway/traffic.ts";
import * as policies from "../policies/mod.ts";
import * as schedulingPolicies from "../scheduling/mod.ts";
import { UpstreamClient } from "../upstream/client.ts";
import { keyPlanOf } from "./configured_keys.ts";
import {
  attachSharedState,
  budgetOf,
  type SharedBuffers,
} from "./shared_state.ts";

/**
 * Milliseconds from the start for which a restored session stays bound to an
 * endpoint that has not passed its first probe. An engine in a long step of a
 * full batch answers no probe either; one that is silent for longer is lost.
 */
const UNSEEN_MS = 10_000;

/** What tells one gateway from another. */
export interface AssemblyParts {
  readonly config: Config;
  readonly buffers: SharedBuffers;
  /** Which ledger and which row of counters are its own. */
  readonly index: number;
  readonly routes: RoutesData;
  readonly outside: Outside;
  readonly inflate: Inflate;
}

/** A gateway and what its owner needs of it. */
export interface Assembly {
  readonly gateway: Gateway;
  readonly admission: Admission;
  /** What rings when another thread hands places over. */
  readonly bell: ReturnType<QueueBoard["bell"]>;
  readonly placement: Placement;
  readonly routes: Routes;
  readonly upstream: UpstreamClient;
}

/** Puts a gateway together. */
export function assembleGateway(parts: AssemblyParts): Assembly {
  const { buffers, config, index, inflate, outside } = parts;
  const state = attachSharedState(config, buffers);
  const routes = new Routes(state.endpoints, parts.routes);
  const upstream = upstreamOf(config, outside);
  const register = new Register("routing policy", policies);
  const { random } = outside;
  const queue = new WaitQueue({
    board: state.board,
    endpoints: state.endpoints,
    worker: index,
    callsMax: config.queue.max,
  });
  const placement = new Placement({
    sessions: state.sessions,
    choice: new EndpointChoice({
      sessions: state.sessions,
      endpoints: state.endpoints,
      policy: register.get(config.routing.policy).create({ random }),
      fallback: register.get(config.session.fallback).create({ random }),
      imbalance: config.routing.imbalance,
      unseenUntilMs: outside.clock.nowMs() + UNSEEN_MS,
    }),
    ledger: new Ledger(buffers.ledgers[index]),
    places: queue,
  });
  const admission = new Admission({
    outside,
    placement,
    queue,
    sessions: state.sessions,
    scheduling: schedulingOf(config),
    settings: queueSettingsOf(config),
  });
  const gateway = new Gateway({
    outside,
    plan: keyPlanOf(config),
    placement,
    admission,
    routes,
    upstream,
    inflate,
    limits: {
      windowBytes: config.session.sniffWindowBytes,
      bodyBytesMax: config.limits.bodyBytes,
      progressMs: config.timeouts.bodyMs ?? Infinity,
    },
    budget: budgetOf(config, buffers, index),
    keepaliveMs: config.queue.keepaliveMs,
    health: new PassiveHealth(state.endpoints),
    retries: new RetryBudget(config.attempts.budget),
    attemptsMax: config.attempts.max,
    traffic: new Traffic(state.counters.layout, {
      row: state.counters.row(index),
      endpoints: state.endpointTraffic.tally(index),
    }),
  });
  const bell = state.board.bell(index);
  return { gateway, admission, bell, placement, routes, upstream };
}

function schedulingOf(config: Config): SchedulingPolicy {
  return new Register("scheduling policy", schedulingPolicies)
    .get(config.queue.policy).create();
}

/** The configuration says `none` where the queue wants a number. */
function queueSettingsOf({ queue, routing, timeouts }: Config): QueueSettings {
  return {
    isOn: queue.max > 0,
    sessionMax: queue.sessionMax,
    boostRatio: queue.boostRatio,
    overdueMs: queue.overdueMs ?? Infinity,
    timeoutMs: timeouts.queueMs ?? Infinity,
    patienceMs: routing.affinityPatienceMs,
    priorityMin: queue.priorityMin,
    priorityMax: queue.priorityMax,
  };
}

function upstreamOf(config: Config, outside: Outside): UpstreamClient {
  const { connectMs, firstByteMs, idleMs } = config.timeouts;
  return new UpstreamClient(outside, {
    connectMs,
    firstByteMs,
    // The configuration says `none` where the client wants a number.
    idleMs: idleMs ?? Infinity,
  });
}
