/**
 * The metrics that engines tell of themselves, as the gateway has read them.
 *
 * Invariant: what an engine does not say has no series, and how old a reading
 * is stands beside it.
 *
 * @module
 */
import type { EngineGauges } from "../../core/engines/engine_metrics.ts";
import type { EndpointFamily } from "./endpoint_metrics.ts";

const MS_PER_S = 1_000;

/** What an endpoint's engine has said last. */
export interface EndpointEngine {
  /** `undefined` when nothing recent is known. */
  readonly engine:
    | { readonly gauges: EngineGauges; readonly ageMs: number }
    | undefined;
}

/** The families of engines. */
export const ENGINE_FAMILIES: readonly EndpointFamily<EndpointEngine>[] = [
  {
    kind: "gauge",
    name: "tryst_engine_running_requests",
    help: "Requests that an engine works on, by its own account.",
    read: ({ engine }) => engine?.gauges.running,
  },
  {
    kind: "gauge",
    name: "tryst_engine_waiting_requests",
    help: "Requests that wait inside an engine, by its own account.",
    read: ({ engine }) => engine?.gauges.waiting,
  },
  {
    kind: "gauge",
    name: "tryst_engine_cache_usage_ratio",
    help: "Share of an engine's KV cache in use, by its own account.",
    read: ({ engine }) => engine?.gauges.cacheUsage,
  },
  {
    kind: "counter",
    name: "tryst_engine_prefix_lookup_tokens_total",
    help: "Tokens looked up in an engine's prefix cache since its start.",
    read: ({ engine }) => engine?.gauges.prefixQueries,
  },
  {
    kind: "counter",
    name: "tryst_engine_prefix_hit_tokens_total",
    help: "Of these, tokens that were found.",
    read: ({ engine }) => engine?.gauges.prefixHits,
  },
  {
    kind: "gauge",
    name: "tryst_engine_prefix_hit_ratio",
    help: "Share of tokens found in the prefix cache lately, of engines " +
      "that tell no totals.",
    read: ({ engine }) => engine?.gauges.prefixHitRate,
  },
  {
    kind: "gauge",
    name: "tryst_engine_reading_age_seconds",
    help: "Time since an engine was last asked with success.",
    read: ({ engine }) => engine && engine.ageMs / MS_PER_S,
  },
];
