/**
 * The memory that all threads of a gateway share.
 *
 * Invariant: it is allocated once, at start, at its full size; threads only
 * attach to it.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { Budget } from "../core/counting/budget.ts";
import {
  type CapacityBuffers,
  CapacityTable,
} from "../core/endpoints/capacity_table.ts";
import { Counters } from "../core/counting/counters.ts";
import { EndpointTable } from "../core/endpoints/endpoint_table.ts";
import { EndpointTraffic } from "../core/endpoints/endpoint_traffic.ts";
import { Ledger } from "../core/placement/ledger.ts";
import { LoopLags } from "../core/counting/loop_lag.ts";
import { QueueBoard } from "../core/queue/queue_board.ts";
import type { PlaceSecret } from "../core/sessions/session_place.ts";
import { SessionTable } from "../core/sessions/session_table.ts";
import {
  type TenantBuffers,
  TenantLimits,
} from "../core/tenants/tenant_limits.ts";
import { TenantTally } from "../core/tenants/tenant_tally.ts";
import { trafficLayout } from "../gateway/traffic.ts";
import { keyPlanOf } from "./configured_keys.ts";

/** Buffers that can be posted to a thread. */
export interface SharedBuffers {
  readonly sessions: SharedArrayBuffer;
  readonly endpoints: SharedArrayBuffer;
  readonly counters: SharedArrayBuffer;
  /** The session-key sources that have counters: those of the start. */
  readonly countedSources: readonly string[];
  readonly endpointTraffic: SharedArrayBuffer;
  /** One thread a worker, by its index, and the main thread behind them. */
  readonly lags: SharedArrayBuffer;
  readonly budget: SharedArrayBuffer;
  readonly board: SharedArrayBuffer;
  readonly capacity: CapacityBuffers;
  readonly tenants: TenantBuffers;
  readonly tenantTally: SharedArrayBuffer;
  /** One a worker, by its index. */
  readonly ledgers: readonly SharedArrayBuffer[];
}

/** Views on the buffers, for one thread. */
export interface SharedState {
  readonly buffers: SharedBuffers;
  readonly sessions: SessionTable;
  readonly endpoints: EndpointTable;
  readonly counters: Counters;
  readonly endpointTraffic: EndpointTraffic;
  readonly lags: LoopLags;
  readonly board: QueueBoard;
  readonly capacity: CapacityTable;
}

/** Allocates everything; `epochMs` is the time of start. */
export function createSharedState(
  config: Config,
  options: {
    readonly workerCount: number;
    readonly epochMs: number;
    /** Nobody outside of the process may know it. */
    readonly secret: PlaceSecret;
  },
): SharedState {
  const { workerCount, epochMs, secret } = options;
  const sessions = SessionTable.create({
    capacity: config.session.capacity,
    idleTtlMs: config.session.idleTtlMs,
    epochMs,
    secret,
  });
  const countedSources = keyPlanOf(config).sourceNames;
  const layout = trafficLayout(countedSources);
  const counters = new SharedArrayBuffer(
    Counters.bytesFor(layout, workerCount),
  );
  return attachSharedState({
    sessions: sessions.buffer,
    endpoints: new EndpointTable().buffer,
    counters,
    countedSources,
    endpointTraffic: new SharedArrayBuffer(
      EndpointTraffic.bytesFor(workerCount),
    ),
    lags: new SharedArrayBuffer(LoopLags.bytesFor(workerCount + 1)),
    budget: new SharedArrayBuffer(Budget.bytesFor(workerCount)),
    board: QueueBoard.create(workerCount).buffer,
    capacity: new CapacityTable(new EndpointTable()).buffers,
    tenants: TenantLimits.create(workerCount, epochMs),
    tenantTally: TenantTally.create(workerCount),
    ledgers: Array.from({ length: workerCount }, () => new Ledger().buffer),
  });
}

/** Views for one more thread. */
export function attachSharedState(buffers: SharedBuffers): SharedState {
  const endpoints = new EndpointTable(buffers.endpoints);
  const layout = trafficLayout(buffers.countedSources);
  return {
    buffers,
    sessions: new SessionTable(buffers.sessions),
    endpoints,
    capacity: new CapacityTable(endpoints, buffers.capacity),
    counters: new Counters(layout, buffers.counters),
    endpointTraffic: new EndpointTraffic(buffers.endpointTraffic),
    lags: new LoopLags(buffers.lags),
    board: new QueueBoard(buffers.board),
  };
}

/** The budgets as one worker sees them. */
export function budgetOf(
  config: Config,
  buffers: SharedBuffers,
  index: number,
): Budget {
  return new Budget(buffers.budget, index, {
    requests: config.limits.requests,
    sniffBytes: config.limits.sniffMemoryBytes,
  });
}
