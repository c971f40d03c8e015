/**
 * The metrics of what the gateway holds: sessions, requests, bytes of bodies
 * and calls that wait. Whatever is held has a limit, which stands beside it.
 *
 * Invariant: levels are those of the queue, a closed list.
 *
 * @module
 */
import type { Registry } from "prom-client";
import { registerRead, single } from "./read_metrics.ts";

const MS_PER_S = 1_000;

/** What is held now. */
export interface HoldingReading {
  readonly sessions: {
    readonly capacity: number;
    /** Sessions now, bound or not, and expired ones until they are swept. */
    readonly occupied: number;
    readonly evictions: number;
    /** Requests whose session found no record. */
    readonly fullBuckets: number;
  };
  readonly requests: number;
  readonly requestsMax: number;
  readonly sniffBytes: number;
  readonly sniffBytesMax: number;
  readonly queue: {
    readonly longestWaitMs: number;
    /** Places handed over to other workers since the start. */
    readonly handOverCount: number;
    /** Waiting calls by level from -1, which is overdue. */
    readonly levels: readonly {
      readonly level: number;
      readonly count: number;
    }[];
  };
}

/** A family of one value. */
interface HoldingFamily {
  readonly kind: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly value: (reading: HoldingReading) => number;
}

const FAMILIES: readonly HoldingFamily[] = [
  {
    kind: "gauge",
    name: "tryst_sessions",
    help: "Sessions in the session table now, expired ones included until " +
      "their records are freed.",
    value: ({ sessions }) => sessions.occupied,
  },
  {
    kind: "gauge",
    name: "tryst_session_capacity",
    help: "Records of the session table.",
    value: ({ sessions }) => sessions.capacity,
  },
  {
    kind: "counter",
    name: "tryst_session_evictions_total",
    help: "Idle sessions given up for new ones.",
    value: ({ sessions }) => sessions.evictions,
  },
  {
    kind: "counter",
    name: "tryst_sessions_untracked_total",
    help: "Requests whose session found no record that could be given up.",
    value: ({ sessions }) => sessions.fullBuckets,
  },
  {
    kind: "gauge",
    name: "tryst_requests_in_flight",
    help: "Requests that have begun and not ended.",
    value: ({ requests }) => requests,
  },
  {
    kind: "gauge",
    name: "tryst_requests_in_flight_max",
    help: "Most requests in flight at once; more are refused.",
    value: ({ requestsMax }) => requestsMax,
  },
  {
    kind: "gauge",
    name: "tryst_sniff_held_bytes",
    help: "Bytes of request bodies held while their key is unknown.",
    value: ({ sniffBytes }) => sniffBytes,
  },
  {
    kind: "gauge",
    name: "tryst_sniff_held_bytes_max",
    help: "Most of these bytes at once; requests beyond are refused.",
    value: ({ sniffBytesMax }) => sniffBytesMax,
  },
  {
    kind: "gauge",
    name: "tryst_queue_longest_wait_seconds",
    help: "How long the longest waiting request has waited.",
    value: ({ queue }) => queue.longestWaitMs / MS_PER_S,
  },
  {
    kind: "counter",
    name: "tryst_queue_hand_overs_total",
    help: "Places given to a waiting request of another worker.",
    value: ({ queue }) => queue.handOverCount,
  },
];

/** Puts the families of what is held on the page. */
export function registerHoldings(
  read: () => HoldingReading,
  registers: Registry[],
): void {
  const families = FAMILIES.map(({ value, ...family }) => ({
    ...family,
    read: single(() => value(read())),
  }));
  registerRead([...families, {
    kind: "gauge",
    name: "tryst_queue_waiting",
    help: "Requests that wait for a place, by level: overdue ones go first, " +
      "then level 0.",
    labels: ["level"],
    read: () =>
      read().queue.levels.map(({ count, level }) => [
        { level: level < 0 ? "overdue" : String(level) },
        count,
      ]),
  }], registers);
}
