/**
 * What metrics and status read of a gateway, put together from the shared
 * state.
 *
 * Invariant: it only reads, so it may be asked for at any time.
 *
 * @module
 */
import type {
  HoldingReading,
  ProcessReading,
} from "../admin/metrics/metrics.ts";
import type { Config } from "../config/config.ts";
import { LEVEL_COUNT } from "../core/scheduling_policy.ts";
import { processUse } from "../system/process_facts.ts";
import { budgetOf, type SharedState } from "./shared_state.ts";

/** What the gateway holds. */
export function readHoldings(
  config: Config,
  state: SharedState,
): HoldingReading {
  const { board, buffers, sessions } = state;
  const { requests, sniffBytes } = budgetOf(config, buffers, 0).held();
  return {
    sessions: sessions.gauges(),
    requests,
    requestsMax: config.limits.requests,
    sniffBytes,
    sniffBytesMax: config.limits.sniffMemoryBytes,
    queue: {
      longestWaitMs: board.waitingCount === 0 ? 0 : board.longestWaitMs,
      handOverCount: board.handOverCount,
      levels: Array.from({ length: LEVEL_COUNT + 1 }, (_, index) => {
        const level = index - 1;
        return { level, count: Math.max(0, board.waitingOn(level)) };
      }),
    },
  };
}

/** Unlike before once a request has begun or ended. */
export function readChanges(config: Config, state: SharedState): string {
  const { buffers, counters, sessions } = state;
  const received = counters.layout.offset("tryst_requests_received_total");
  const open = budgetOf(config, buffers, 0).held().requests;
  const { occupied } = sessions.gauges();
  return [counters.sum(received), open, occupied].join();
}

/** What the process uses. */
export function readProcess(
  state: SharedState,
  facts: {
    readonly startedAtMs: number;
    readonly nowMs: number;
    readonly workerDeaths: number;
  },
): ProcessReading {
  const { startedAtMs, nowMs, workerDeaths } = facts;
  const { board: { workerCount }, lags } = state;
  const threads = Array.from({ length: workerCount + 1 }, (_, index) => ({
    thread: index === workerCount ? "main" : `worker-${index}`,
    ms: lags.longestMs(index, nowMs),
  }));
  return {
    ...processUse(),
    startedAtMs,
    workerDeaths,
    // Without worker threads, the main one carries the traffic.
    lags: threads.flatMap(({ thread, ms }) =>
      ms === undefined ? [] : [{ thread, ms }]
    ),
  };
}
