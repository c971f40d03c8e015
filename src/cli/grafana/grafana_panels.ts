/**
 * What the Grafana dashboard shows first: requests, the queue and sessions.
 *
 * Invariant: every metric that is named here exists, which a test checks
 * against the metrics page.
 *
 * @module
 */
import { ENDPOINT_SECTIONS } from "./grafana_endpoint_panels.ts";
import { type PanelQuery, query, SCOPE } from "./grafana_queries.ts";

/** One panel. */
export interface Panel {
  readonly title: string;
  /** Why one looks at it. */
  readonly doc: string;
  /** A unit by Grafana's names. */
  readonly unit: "short" | "reqps" | "s" | "bytes" | "Bps" | "percentunit";
  /** Whether its lines are parts of a whole. */
  readonly isStacked?: boolean;
  readonly queries: readonly PanelQuery[];
}

/** Panels that belong together. */
export interface PanelSection {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** All sections, from what users feel to what explains it. */
export const PANEL_SECTIONS: readonly PanelSection[] = [
  {
    title: "Requests",
    panels: [
      {
        title: "Requests by outcome",
        doc: "Status classes are engines' answers; the rest is the gateway's.",
        unit: "reqps",
        isStacked: true,
        queries: [query.rateBy("tryst_requests_total", "outcome")],
      },
      {
        title: "Time to first byte",
        doc: "From a request's head to the first byte of its answer.",
        unit: "s",
        queries: query.quantiles("tryst_first_byte_seconds"),
      },
      {
        title: "Between two pieces of a stream",
        doc: "What readers of a stream feel; slow readers are in it.",
        unit: "s",
        queries: query.quantiles("tryst_chunk_gap_seconds"),
      },
      {
        title: "Requests in flight",
        doc: "Begun and not ended, against the most there may be.",
        unit: "short",
        queries: [
          query.total("tryst_requests_in_flight", "in flight"),
          query.total("tryst_requests_in_flight_max", "most"),
        ],
      },
      {
        title: "Whole requests",
        doc: "From a request's head to its end, however it ended.",
        unit: "s",
        queries: query.quantiles("tryst_request_seconds"),
      },
      {
        title: "Phases, 95 of 100",
        doc: "Which phase the time goes to.",
        unit: "s",
        queries: [{
          expr: query.quantile(0.95, "tryst_phase_seconds", "phase"),
          legend: "{{phase}}",
        }],
      },
    ],
  },
  {
    title: "Queue",
    panels: [
      {
        title: "Waiting by level",
        doc: "Level 0 goes first; overdue ones go before it.",
        unit: "short",
        isStacked: true,
        queries: [{
          expr: `sum by (level) (tryst_queue_waiting${SCOPE.gateway}) > 0`,
          legend: "{{level}}",
        }],
      },
      {
        title: "Wait for a place",
        doc: "Of requests that waited, and the longest that waits now.",
        unit: "s",
        queries: [
          ...query.quantiles("tryst_queue_wait_seconds"),
          {
            expr: `max(tryst_queue_longest_wait_seconds${SCOPE.gateway})`,
            legend: "longest now",
          },
        ],
      },
      {
        title: "How waiting ended",
        doc: "Anything but placed is a request that was not served.",
        unit: "reqps",
        queries: [query.rateBy("tryst_queue_wait_seconds_count", "outcome")],
      },
    ],
  },
  {
    title: "Sessions",
    panels: [
      {
        title: "Affinity",
        doc: "Hits meet the engine that holds their cache.",
        unit: "reqps",
        isStacked: true,
        queries: [query.rateBy("tryst_affinity_total", "outcome")],
      },
      {
        title: "Session keys by source",
        doc: "Requests without a key cannot meet an engine again.",
        unit: "reqps",
        isStacked: true,
        queries: [query.rateBy("tryst_session_key_source_total", "source")],
      },
      {
        title: "Live sessions",
        doc: "Against the records of the table.",
        unit: "short",
        queries: [
          query.total("tryst_sessions", "live"),
          query.total("tryst_session_capacity", "records"),
        ],
      },
      {
        title: "Sessions lost",
        doc: "Given up for new ones, or never tracked: the table is small.",
        unit: "reqps",
        queries: [
          query.rate("tryst_session_evictions_total", "evicted"),
          query.rate("tryst_sessions_untracked_total", "untracked"),
        ],
      },
    ],
  },
  ...ENDPOINT_SECTIONS,
];
