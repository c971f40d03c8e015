/**
 * What the Grafana dashboard shows of endpoints, their engines and the
 * gateway's own process.
 *
 * Invariant: every metric that is named here exists, which a test checks
 * against the metrics page.
 *
 * @module
 */
import type { PanelSection } from "./grafana_panels.ts";
import { query, SCOPE } from "./grafana_queries.ts";

/** The sections behind those of requests. */
export const ENDPOINT_SECTIONS: readonly PanelSection[] = [
  {
    title: "Endpoints",
    panels: [
      {
        title: "Endpoints by state",
        doc: "Only ready ones take work.",
        unit: "short",
        isStacked: true,
        queries: [{
          expr: `sum by (state) (tryst_endpoint_state${SCOPE.endpoint})`,
          legend: "{{state}}",
        }],
      },
      {
        title: "In flight and limit",
        doc: "At its limit, an endpoint has requests wait.",
        unit: "short",
        queries: [
          query.byEndpoint(`tryst_endpoint_in_flight${SCOPE.endpoint}`),
          query.byEndpoint(
            `tryst_endpoint_limit${SCOPE.endpoint}`,
            "limit of ",
          ),
        ],
      },
      {
        title: "Attempts",
        doc: "Upstream requests started.",
        unit: "reqps",
        queries: [query.rateByEndpoint("tryst_endpoint_attempts_total")],
      },
      {
        title: "Failed attempts",
        doc: "By an endpoint's fault; ejections follow.",
        unit: "reqps",
        queries: [
          query.rateByEndpoint("tryst_endpoint_attempt_failures_total"),
          {
            expr: `sum by (endpoint, cause) (increase(` +
              `tryst_endpoint_ejections_total${SCOPE.endpoint}${SCOPE.rate})) > 0`,
            legend: "ejected {{endpoint}}: {{cause}}",
          },
        ],
      },
      {
        title: "Hit rate",
        doc: "Share of attempts whose session was bound there.",
        unit: "percentunit",
        queries: [
          query.byEndpoint(
            query.ratio(
              "tryst_endpoint_hits_total",
              "tryst_endpoint_attempts_total",
            ),
          ),
        ],
      },
      {
        title: "Mean time to first byte",
        doc: "From the start of an attempt: waiting for it is not in it.",
        unit: "s",
        queries: [
          query.byEndpoint(query.ratio(
            "tryst_endpoint_first_byte_seconds_total",
            "tryst_endpoint_first_bytes_total",
          )),
        ],
      },
      {
        title: "Sessions",
        doc: "Live sessions bound to each endpoint.",
        unit: "short",
        queries: [query.byEndpoint(`tryst_endpoint_sessions${SCOPE.endpoint}`)],
      },
      {
        title: "Bytes from engines",
        doc: "Of the bodies of their answers.",
        unit: "Bps",
        queries: [query.rateByEndpoint("tryst_endpoint_response_bytes_total")],
      },
    ],
  },
  {
    title: "Engines, by their own account",
    panels: [
      {
        title: "Running and waiting",
        doc: "What waits inside an engine waits in no order of sessions.",
        unit: "short",
        queries: [
          query.byEndpoint(`tryst_engine_running_requests${SCOPE.endpoint}`),
          query.byEndpoint(
            `tryst_engine_waiting_requests${SCOPE.endpoint}`,
            "waiting in ",
          ),
        ],
      },
      {
        title: "KV cache in use",
        doc: "Near 1, engines preempt requests.",
        unit: "percentunit",
        queries: [
          query.byEndpoint(`tryst_engine_cache_usage_ratio${SCOPE.endpoint}`),
        ],
      },
      {
        title: "Prefix cache hit rate",
        doc: "Share of prompt tokens found: what affinity is for.",
        unit: "percentunit",
        queries: [
          query.byEndpoint(query.ratio(
            "tryst_engine_prefix_hit_tokens_total",
            "tryst_engine_prefix_lookup_tokens_total",
          )),
          query.byEndpoint(`tryst_engine_prefix_hit_ratio${SCOPE.endpoint}`),
        ],
      },
      {
        title: "Decisions on learned limits",
        doc: "Why limits were raised and cut.",
        unit: "short",
        queries: [{
          expr: `sum by (change, cause) (increase(` +
            `tryst_endpoint_limit_decisions_total{instance=~"$instance",` +
            `endpoint=~"$endpoint",change!="held"}${SCOPE.rate}))`,
          legend: "{{change}}: {{cause}}",
        }],
      },
    ],
  },
  {
    title: "Gateway",
    panels: [
      {
        title: "Event loops late by",
        doc: "The longest lately, by thread: a busy thread serves slowly.",
        unit: "s",
        queries: [{
          expr:
            `max by (thread) (tryst_event_loop_lag_seconds${SCOPE.gateway})`,
          legend: "{{thread}}",
        }],
      },
      {
        title: "Processor time",
        doc: "Of all threads; 1 is one processor.",
        unit: "short",
        queries: [{
          expr:
            `rate(process_cpu_seconds_total${SCOPE.gateway}${SCOPE.rate}) and ` +
            `on (instance, job) tryst_build_info`,
          legend: "{{instance}}",
        }],
      },
      {
        title: "Memory",
        doc: "Resident memory, and bodies held while keys are looked for.",
        unit: "bytes",
        queries: [
          {
            expr: `process_resident_memory_bytes${SCOPE.gateway} and ` +
              `on (instance, job) tryst_build_info`,
            legend: "{{instance}}",
          },
          query.total("tryst_sniff_held_bytes", "bodies held"),
        ],
      },
      {
        title: "Bodies without a key",
        doc: "That the scanner could not read, or not within its window.",
        unit: "reqps",
        queries: [
          query.rate("tryst_scanner_gave_up_total", "unreadable"),
          query.rate("tryst_sniff_window_full_total", "window full"),
        ],
      },
      {
        title: "Tunnels",
        doc: "WebSockets that are open.",
        unit: "short",
        queries: [query.total("tryst_tunnels", "open")],
      },
      {
        title: "Workers that died",
        doc: "Each took the requests of one thread with it.",
        unit: "short",
        queries: [{
          expr:
            `sum(increase(tryst_worker_deaths_total${SCOPE.gateway}${SCOPE.rate}))`,
          legend: "died",
        }],
      },
    ],
  },
];
