/**
 * The whole metrics page, of a gateway that is made up: every family there is,
 * and as many endpoints and workers as asked for.
 *
 * Invariant: each family that the program registers is registered here.
 *
 * @module
 */
import type { Registry } from "prom-client";
import {
  type EndpointStatus,
  metricsRegistry,
} from "../../src/admin/metrics/metrics.ts";
import { registerBuild } from "../../src/admin/metrics/process_metrics.ts";
import { registerReloads } from "../../src/admin/reload_outcome.ts";
import { registerSnapshots } from "../../src/admin/metrics/snapshot_metrics.ts";
import {
  CAPACITY_CHANGES,
  type CapacityCause,
} from "../../src/core/endpoints/capacity.ts";
import { Counters } from "../../src/core/counting/counters.ts";
import { EndpointTraffic } from "../../src/core/endpoints/endpoint_traffic.ts";
import { LEVEL_COUNT } from "../../src/core/scheduling_policy.ts";
import { TENANT_OUTCOMES } from "../../src/core/tenants/tenant_tally.ts";
import { Traffic, trafficLayout } from "../../src/gateway/traffic.ts";
import { DEFAULT_SESSION_KEYS } from "../../src/session_keys/defaults.ts";

/** How large the gateway is. */
export interface MadeUpSize {
  readonly endpointCount: number;
  readonly workerCount: number;
}

/** A registry and what its workers count with. */
export interface MadeUpMetrics {
  readonly registry: Registry;
  readonly traffic: readonly Traffic[];
}

/** Every family, of a gateway of that size. */
export function madeUpMetrics(
  { endpointCount, workerCount }: MadeUpSize,
): MadeUpMetrics {
  const layout = trafficLayout(DEFAULT_SESSION_KEYS);
  const counters = new Counters(
    layout,
    new SharedArrayBuffer(Counters.bytesFor(layout, workerCount)),
  );
  const endpointTraffic = new EndpointTraffic(
    new SharedArrayBuffer(EndpointTraffic.bytesFor(workerCount)),
  );
  const traffic = Array.from(
    { length: workerCount },
    (_, index) =>
      new Traffic(layout, {
        row: counters.row(index),
        endpoints: endpointTraffic.tally(index),
        sourceNames: DEFAULT_SESSION_KEYS,
      }),
  );
  const registry = metricsRegistry({
    counters,
    endpoints: () =>
      Array.from({ length: endpointCount }, (_, slot) => ({
        ...status(slot),
        totals: endpointTraffic.totals(slot),
      })),
    holdings,
    process: () => processReading(workerCount),
    tenants: () =>
      ["red", "other"].map((tenant) => ({
        tenant,
        running: 2,
        waiting: 1,
        counts: TENANT_OUTCOMES.map((_, at) => at),
      })),
  });
  registerSnapshots(() => ({
    written: 1,
    failed: 0,
    sessions: 1,
    bytes: 1,
    tookMs: 1,
    writtenAtMs: 1,
    restored: 1,
    refused: 0,
  }), [registry]);
  registerReloads(() => ({
    reloaded: 1,
    unchanged: 1,
    refused: 1,
    complaint: undefined,
    loadedAtMs: 1,
  }), [registry]);
  registerBuild({ version: "0.1.0", deno: "2.9.6" }, [registry]);
  return { registry, traffic };
}

function status(slot: number): Omit<EndpointStatus, "totals"> {
  const causes = Object.keys(CAPACITY_CHANGES) as CapacityCause[];
  return {
    id: `http://127.0.0.1:${8_000 + slot}`,
    state: "ready",
    sinceMs: 1,
    inFlight: 3,
    sessions: 1_000,
    failures: 0,
    isBusy: false,
    limit: 64,
    capacity: {
      counts: new Map(causes.map((cause) => [cause, 1])),
      baselinesMs: new Map([[1_024, 40], [65_536, 90], [Infinity, 400]]),
    },
    engine: {
      gauges: {
        engine: "vllm",
        running: 3,
        waiting: 0,
        cacheUsage: 0.5,
        prefixQueries: 1_000,
        prefixHits: 900,
        prefixHitRate: 0.9,
      },
      ageMs: 1_500,
    },
    ejections: new Map([["failures", 1], ["probe_failed", 1]]),
    probes: new Map([["passed", 9], ["failed", 1]]),
  };
}

function holdings() {
  return {
    sessions: {
      capacity: 8,
      occupied: 1,
      evictions: 1,
      fullBuckets: 0,
    },
    requests: 5,
    requestsMax: 10_000,
    sniffBytes: 1_024,
    sniffBytesMax: 65_536,
    queue: {
      longestWaitMs: 1_500,
      handOverCount: 3,
      levels: Array.from(
        { length: LEVEL_COUNT + 1 },
        (_, index) => ({ level: index - 1, count: index }),
      ),
    },
  };
}

function processReading(workerCount: number) {
  const workers = Array.from(
    { length: workerCount },
    (_, index) => ({ thread: `worker-${index}`, ms: index }),
  );
  return {
    memoryBytes: 100_000_000,
    cpuMs: 12_345,
    startedAtMs: 1_700_000_000_000,
    workerDeaths: 0,
    lags: [...workers, { thread: "main", ms: 2 }],
  };
}
