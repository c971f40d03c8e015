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
import { Ledger } from "../core/ledger.ts";
import type { Outside } from "../core/outside.ts";
import { PassiveHealth } from "../core/passive_health.ts";
import { Placement } from "../core/placement.ts";
import { Register } from "../core/plugin.ts";
import { RetryBudget } from "../core/retry_budget.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { Inflate } from "../gateway/inflate.ts";
import { Routes, type RoutesData } from "../gateway/routes.ts";
import { Traffic } from "../gateway/traffic.ts";
import * as policies from "../policies/mod.ts";
import { UpstreamClient } from "../upstream/client.ts";
import { keyPlanOf } from "./configured_keys.ts";
import {
  attachSharedState,
  budgetOf,
  type SharedBuffers,
} from "./shared_state.ts";

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
  const placement = new Placement({
    sessions: state.sessions,
    endpoints: state.endpoints,
    ledger: new Ledger(buffers.ledgers[index]),
    policy: register.get(config.routing.policy).create({ random }),
    fallback: register.get(config.session.fallback).create({ random }),
    imbalance: config.routing.imbalance,
  });
  const gateway = new Gateway({
    outside,
    plan: keyPlanOf(config),
    placement,
    routes,
    upstream,
    inflate,
    limits: {
      windowBytes: config.session.sniffWindowBytes,
      bodyBytesMax: config.limits.bodyBytes,
      progressMs: config.timeouts.bodyMs ?? Infinity,
    },
    budget: budgetOf(config, buffers, index),
    health: new PassiveHealth(state.endpoints),
    retries: new RetryBudget(config.attempts.budget),
    attemptsMax: config.attempts.max,
    traffic: new Traffic(state.counters.layout, state.counters.row(index)),
  });
  return { gateway, placement, routes, upstream };
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
