/**
 * Two looks at a gateway that does not exist, a second apart.
 *
 * Invariant: nothing in them changes from run to run.
 *
 * @module
 */
import type { EndpointView, GatewayStatus } from "../../src/admin/status.ts";

/** A moment, in milliseconds since the Unix epoch. */
const NOW_MS = 1_800_000_000_000;

const SECOND_MS = 1_000;

/** An endpoint that is well, but for what is said of it. */
export function madeUpEndpoint(
  id: string,
  own: Partial<EndpointView> = {},
): EndpointView {
  return {
    id,
    state: "ready",
    sinceMs: NOW_MS - 3_600 * SECOND_MS,
    weight: 1,
    inFlight: 4,
    limit: 32,
    limitSource: "configured",
    sessions: 120,
    consecutiveFailures: 0,
    lastAnswerAgeMs: 20,
    models: 1,
    attempts: 1_000,
    failures: 0,
    hits: 800,
    firstByteMsSum: 100_000,
    firstByteCount: 1_000,
    gauges: { running: 4, waiting: 0, cacheUsage: 0.42, ageMs: 300 },
    ...own,
  };
}

/** A status with these endpoints, but for what is said of it. */
export function madeUpStatus(
  endpoints: readonly EndpointView[],
  own: Partial<GatewayStatus> = {},
): GatewayStatus {
  return {
    version: "0.1.0",
    nowMs: NOW_MS,
    startedAtMs: NOW_MS - 7_384 * SECOND_MS,
    isReady: true,
    workers: { serving: 2, total: 2, deaths: 0 },
    endpoints,
    queue: {
      waiting: 3,
      longestWaitMs: 1_250,
      levels: [{ level: 0, count: 3 }],
    },
    sessions: { live: 1_240, capacity: 262_144, evictions: 0 },
    traffic: {
      received: 5_000,
      outcomes: { "2xx": 4_900, "4xx": 50, "queue_full": 50 },
      affinity: { none: 100, new: 900, hit: 3_600, moved: 20, spilled: 380 },
      attempts: 5_000,
      responseBytes: 50_000_000,
      firstByteMsSum: 500_000,
      firstByteCount: 5_000,
    },
    memoryBytes: 123_456_789,
    live: [],
    failures: [],
    ...own,
  };
}

/** Three endpoints in three states. */
const NOW: GatewayStatus = madeUpStatus([
  madeUpEndpoint("gpu-b", {
    attempts: 1_050,
    hits: 840,
    firstByteMsSum: 112_000,
    firstByteCount: 1_050,
    limitSource: "learned",
  }),
  madeUpEndpoint("gpu-a", { inFlight: 12, attempts: 1_100, failures: 2 }),
  madeUpEndpoint("http://10.0.0.7:8000", {
    state: "ejected",
    sinceMs: NOW_MS - 65 * SECOND_MS,
    inFlight: 0,
    limit: null,
    limitSource: "none",
    gauges: null,
  }),
], {
  live: [{
    id: "req-1",
    phase: "relay",
    ageMs: 4_200,
    method: "POST",
    path: "/v1/chat/completions",
    endpoint: "gpu-a",
    session: "1a2b3c4d",
    worker: 0,
  }],
  failures: [{
    atMs: NOW_MS - 65 * SECOND_MS,
    id: "req-0",
    code: "upstream_refused",
    endpoint: "http://10.0.0.7:8000",
    cause: "Connection refused (os error 111)",
  }],
});

/** The same gateway, a second before. */
const FORMER: GatewayStatus = madeUpStatus([
  madeUpEndpoint("gpu-b"),
  madeUpEndpoint("gpu-a"),
], {
  nowMs: NOW_MS - SECOND_MS,
  traffic: {
    received: 4_880,
    outcomes: { "2xx": 4_785, "4xx": 50, "queue_full": 48 },
    affinity: { none: 100, new: 890, hit: 3_510, moved: 20, spilled: 370 },
    attempts: 4_880,
    responseBytes: 48_800_000,
    firstByteMsSum: 488_000,
    firstByteCount: 4_880,
  },
});

/** The two looks. */
export const MADE_UP = { now: NOW, former: FORMER } as const;
