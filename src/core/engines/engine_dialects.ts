/**
 * What engine families call the numbers that the gateway reads of them.
 *
 * A new family is a row of the table, and a family's new names are words in
 * its row. Names stand here without their prefix: pages write `vllm:name`, and
 * `vllm_name` where something on the way takes no colons. Names of counters
 * end in `_total` here, which pages may leave out.
 *
 * Where the names come from:
 *
 * - vLLM: its documentation, "Production Metrics", and
 *   `vllm/v1/metrics/loggers.py`. The `gpu_` names were deprecated in 0.9,
 *   printed beside their successors for some versions and then removed. The
 *   hit rate as a gauge is that of the V0 engine, -1 while it has none.
 *   Prefix caching is counted in tokens, in blocks before.
 * - SGLang: its documentation, "Production Metrics", and
 *   `python/sglang/srt/observability/metrics_collector.py`. Printed with
 *   `--enable-metrics` only.
 * - llama.cpp: `tools/server/README.md`. Printed with `--metrics` only; newer
 *   versions no longer print the usage of the cache.
 * - TGI: its documentation, "Metrics". It says nothing about its cache.
 *
 * Invariant: a name stands in one place of the table only, and where a page
 * has several names of one gauge, the first that can be read is taken alone.
 *
 * @module
 */

/** What is read of an engine. */
export const GAUGE_NAMES = [
  "running",
  "waiting",
  "cacheUsage",
  "prefixQueries",
  "prefixHits",
  "prefixHitRate",
] as const;

/** One number that is read of an engine; see `EngineGauges`. */
export type GaugeName = typeof GAUGE_NAMES[number];

/** How one engine family spells its gauges. */
export interface EngineDialect {
  /** The family, as shown to people. */
  readonly engine: string;
  /** What all of its names start with, before a colon or an underscore. */
  readonly prefix: string;
  /** The names of each gauge, best first. */
  readonly names: { readonly [G in GaugeName]?: readonly string[] };
  /**
   * Labels that do not split a number up but repeat it: of series that differ
   * in nothing else, the largest counts, not the sum.
   */
  readonly repeats: readonly string[];
}

/** All families; where a page has names of several, the first one counts. */
export const ENGINE_DIALECTS: readonly EngineDialect[] = [
  {
    engine: "vllm",
    prefix: "vllm",
    names: {
      running: ["num_requests_running"],
      waiting: ["num_requests_waiting"],
      cacheUsage: ["kv_cache_usage_perc", "gpu_cache_usage_perc"],
      prefixQueries: [
        "prefix_cache_queries_total",
        "gpu_prefix_cache_queries_total",
      ],
      prefixHits: ["prefix_cache_hits_total", "gpu_prefix_cache_hits_total"],
      prefixHitRate: ["gpu_prefix_cache_hit_rate"],
    },
    repeats: [],
  },
  {
    engine: "sglang",
    prefix: "sglang",
    names: {
      running: ["num_running_reqs"],
      waiting: ["num_queue_reqs"],
      cacheUsage: ["token_usage"],
      prefixHitRate: ["cache_hit_rate"],
    },
    // Ranks that share the work on the same requests each print their count
    // when all schedulers are told to; ranks of `dp_rank` have requests of
    // their own. With priorities on, the total stands under an empty one,
    // beside a series for each.
    repeats: ["tp_rank", "pp_rank", "moe_ep_rank", "priority"],
  },
  {
    engine: "llama.cpp",
    prefix: "llamacpp",
    names: {
      running: ["requests_processing"],
      waiting: ["requests_deferred"],
      cacheUsage: ["kv_cache_usage_ratio"],
    },
    repeats: [],
  },
  {
    engine: "tgi",
    prefix: "tgi",
    names: { running: ["batch_current_size"], waiting: ["queue_size"] },
    repeats: [],
  },
];
