/**
 * What can be seen of a gateway at one moment: the one description that the
 * dashboard, the terminal and scripts read.
 *
 * Invariant: plain JSON, of bounded size; no session key, no credential and no
 * prompt is in it. Times are milliseconds, totals count since the start.
 *
 * @module
 */
import type { EndpointState } from "../core/endpoint.ts";
import type { AffinityOutcome } from "../core/placement/placement.ts";

/** A gateway at one moment: the answer to `GET /status`. */
export interface GatewayStatus {
  readonly version: string;
  readonly nowMs: number;
  readonly startedAtMs: number;
  readonly isReady: boolean;
  readonly workers: {
    readonly serving: number;
    readonly total: number;
    /** Workers that died and were replaced. */
    readonly deaths: number;
  };
  readonly endpoints: readonly EndpointView[];
  readonly queue: QueueView;
  readonly sessions: {
    /** In the table now, expired ones included until they are swept. */
    readonly live: number;
    readonly capacity: number;
    readonly evictions: number;
  };
  readonly traffic: TrafficView;
  /** Resident memory of the process in bytes. */
  readonly memoryBytes: number;
  /** Requests under way, the oldest first, and no more than 50. */
  readonly live: readonly LiveRequest[];
  /** Failures, the latest first, and no more than 50. */
  readonly failures: readonly FailureView[];
}

/** An endpoint at one moment. */
export interface EndpointView {
  readonly id: string;
  readonly state: EndpointState;
  readonly sinceMs: number;
  readonly weight: number;
  readonly inFlight: number;
  /** Most in flight at once now; `null` for no limit. */
  readonly limit: number | null;
  /** Where the limit comes from. */
  readonly limitSource: "configured" | "learned" | "none";
  readonly sessions: number;
  readonly consecutiveFailures: number;
  readonly lastAnswerAgeMs: number | null;
  /** Models it lists; `null` when its list cannot be read. */
  readonly models: number | null;
  readonly attempts: number;
  readonly failures: number;
  /** Attempts of sessions that were bound to it. */
  readonly hits: number;
  /** Sum and count of times to the first byte. */
  readonly firstByteMsSum: number;
  readonly firstByteCount: number;
  /** What the engine says of itself; `null` when nothing recent is known. */
  readonly gauges: {
    readonly running: number | null;
    readonly waiting: number | null;
    /** Share of the KV cache in use, 0 to 1. */
    readonly cacheUsage: number | null;
    readonly ageMs: number;
  } | null;
}

/** Who waits. */
export interface QueueView {
  readonly waiting: number;
  readonly longestWaitMs: number;
  /** Waiting requests on each level that has any; -1 is overdue. */
  readonly levels: readonly {
    readonly level: number;
    readonly count: number;
  }[];
}

/** What has gone through. */
export interface TrafficView {
  readonly received: number;
  /** Requests ended, by status class or error code; those that occurred. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly affinity: Readonly<Record<AffinityOutcome, number>>;
  readonly attempts: number;
  readonly responseBytes: number;
  readonly firstByteMsSum: number;
  readonly firstByteCount: number;
}

/** A request under way. */
export interface LiveRequest {
  readonly id: string;
  readonly phase: string;
  readonly ageMs: number;
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  readonly endpoint: string | null;
  /** First 8 hex digits of the session key's hash. */
  readonly session: string | null;
  readonly worker: number;
}

/** A request that failed. */
export interface FailureView {
  readonly atMs: number;
  readonly id: string;
  readonly code: string;
  readonly endpoint: string | null;
  readonly cause: string | null;
}
