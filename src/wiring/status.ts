/**
 * Puts together what can be seen of a gateway at one moment.
 *
 * Invariant: it only reads, and what it reads is of one turn of the main
 * thread but for the requests under way, which workers tell of.
 *
 * @module
 */
import { type ReadinessFacts, readinessOf } from "../admin/readiness.ts";
import type {
  EndpointView,
  FailureView,
  GatewayStatus,
  LiveRequest,
  TrafficView,
} from "../admin/status.ts";
import type { Counters } from "../core/counting/counters.ts";
import type { EndpointStatus } from "../admin/metrics/metrics.ts";
import type { Control } from "./control.ts";
import { endpointReports } from "./endpoint_reports.ts";

/** What the status is put together from. */
export interface StatusParts {
  readonly control: Control;
  readonly version: string;
  readonly nowMs: () => number;
  readonly readiness: () => ReadinessFacts;
  readonly live: () => LiveRequest[] | Promise<LiveRequest[]>;
  readonly failures: () => FailureView[];
}

/** The gateway at this moment. */
export async function gatewayStatus(
  parts: StatusParts,
): Promise<GatewayStatus> {
  const live = await parts.live();
  const { control } = parts;
  const nowMs = Math.round(parts.nowMs());
  const facts = parts.readiness();
  const process = control.process();
  const { queue, sessions } = control.holdings();
  const levels = queue.levels.filter(({ count }) => count > 0);
  return {
    version: parts.version,
    nowMs,
    startedAtMs: Math.round(process.startedAtMs),
    isReady: readinessOf(facts).status === "ready",
    workers: {
      serving: facts.serving,
      total: facts.workers,
      deaths: process.workerDeaths,
    },
    endpoints: endpointViews(control, nowMs),
    queue: {
      waiting: levels.reduce((sum, { count }) => sum + count, 0),
      longestWaitMs: Math.round(queue.longestWaitMs),
      levels,
    },
    sessions: {
      live: sessions.occupied,
      capacity: sessions.capacity,
      evictions: sessions.evictions,
    },
    traffic: trafficView(control.state.counters),
    memoryBytes: process.memoryBytes,
    live,
    failures: parts.failures(),
  };
}

function endpointViews(control: Control, nowMs: number): EndpointView[] {
  const reports = new Map(
    endpointReports(control, nowMs).map((report) => [report.id, report]),
  );
  const weights = new Map(
    control.directory.endpoints.map(({ id, weight }) => [id, weight]),
  );
  return control.endpoints().map((status) => {
    const report = reports.get(status.id);
    const { attempts, failures, firstByteCount, firstByteMsSum, hits } =
      status.totals;
    return {
      id: status.id,
      state: status.state,
      sinceMs: Math.round(status.sinceMs),
      weight: weights.get(status.id) ?? 1,
      inFlight: status.inFlight,
      limit: status.limit ?? null,
      limitSource: limitSource(status),
      sessions: status.sessions,
      consecutiveFailures: status.failures,
      lastAnswerAgeMs: report?.lastAnswerAgeMs ?? null,
      models: report?.models ?? null,
      attempts,
      failures,
      hits,
      firstByteMsSum: Math.round(firstByteMsSum),
      firstByteCount,
      gauges: gaugesOf(status),
    };
  });
}

function limitSource(
  { capacity, limit }: EndpointStatus,
): EndpointView["limitSource"] {
  if (limit === undefined) return "none";
  return capacity === undefined ? "configured" : "learned";
}

function gaugesOf({ engine }: EndpointStatus): EndpointView["gauges"] {
  if (engine === undefined) return null;
  const { cacheUsage, running, waiting } = engine.gauges;
  return {
    running: running ?? null,
    waiting: waiting ?? null,
    cacheUsage: cacheUsage ?? null,
    ageMs: Math.round(engine.ageMs),
  };
}

function trafficView(counters: Counters): TrafficView {
  const affinity = countsOf(counters, "tryst_affinity_total");
  const of = (outcome: keyof TrafficView["affinity"]) => affinity[outcome] ?? 0;
  return {
    received: totalOf(counters, "tryst_requests_received_total"),
    outcomes: countsOf(counters, "tryst_requests_total"),
    affinity: {
      none: of("none"),
      new: of("new"),
      hit: of("hit"),
      moved: of("moved"),
      spilled: of("spilled"),
    },
    attempts: totalOf(counters, "tryst_attempts_total"),
    responseBytes: totalOf(counters, "tryst_response_bytes_total"),
    ...firstBytes(counters),
  };
}

/** The counts of a family by the values of its label, those above 0. */
function countsOf(counters: Counters, name: string): Record<string, number> {
  const { layout } = counters;
  const offset = layout.offset(name);
  const family = layout.families.find((family) => family.name === name);
  const counts = (family?.values ?? []).map((value, index) =>
    [value, counters.sum(offset + index)] as const
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function totalOf(counters: Counters, name: string): number {
  return counters.sum(counters.layout.cell(name));
}

function firstBytes(
  counters: Counters,
): Pick<TrafficView, "firstByteMsSum" | "firstByteCount"> {
  const family = counters.layout.histograms.find(({ name }) =>
    name === "tryst_first_byte_seconds"
  );
  if (family === undefined) return { firstByteMsSum: 0, firstByteCount: 0 };
  const { bucketCounts, sumMs } = counters.histogram(family, 0);
  return {
    firstByteMsSum: Math.round(sumMs),
    firstByteCount: bucketCounts.reduce((sum, count) => sum + count, 0),
  };
}
