/**
 * Pages of metrics as engines print them, and as nobody should.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { ENGINE_DIALECTS, GAUGE_NAMES } from "./engine_dialects.ts";
import { type EngineGauges, readEngineGauges } from "./engine_metrics.ts";

/** Gauges that are unknown where nothing else is said. */
function said(engine: string, known: Partial<EngineGauges>): EngineGauges {
  return {
    engine,
    running: undefined,
    waiting: undefined,
    cacheUsage: undefined,
    prefixQueries: undefined,
    prefixHits: undefined,
    prefixHitRate: undefined,
    ...known,
  };
}

const PYTHON = `# HELP python_info Python platform information
# TYPE python_info gauge
python_info{implementation="CPython",major="3",minor="12"} 1.0
process_open_fds 93.0
`;

/** As vLLM prints it between 0.9 and 0.11: old and new names together. */
const VLLM = `${PYTHON}# HELP vllm:num_requests_running Requests in batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="org/model-8b"} 7.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="org/model-8b"} 2.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 2.0
# TYPE vllm:gpu_cache_usage_perc gauge
vllm:gpu_cache_usage_perc{engine="0",model_name="org/model-8b"} 0.31
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="org/model-8b"} 9.75e-02
# TYPE vllm:gpu_prefix_cache_queries_total counter
vllm:gpu_prefix_cache_queries_total{engine="0",model_name="org/model-8b"} 1.0
# TYPE vllm:gpu_prefix_cache_hits_total counter
vllm:gpu_prefix_cache_hits_total{engine="0",model_name="org/model-8b"} 1.0
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="org/model-8b"} 1.2e+06
# TYPE vllm:prefix_cache_queries_created gauge
vllm:prefix_cache_queries_created{engine="0",model_name="org/model-8b"} 1.75e+09
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="org/model-8b"} 900000.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 3.0
`;

const SGLANG = `# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",tp_rank="0"} 8.0
# TYPE sglang:num_queue_reqs gauge
sglang:num_queue_reqs{engine_type="unified",model_name="m",tp_rank="0"} 4.0
# TYPE sglang:num_grammar_queue_reqs gauge
sglang:num_grammar_queue_reqs{engine_type="unified",model_name="m"} 1.0
# TYPE sglang:token_usage gauge
sglang:token_usage{engine_type="unified",model_name="m",tp_rank="0"} 0.28
# TYPE sglang:cache_hit_rate gauge
sglang:cache_hit_rate{engine_type="unified",model_name="m",tp_rank="0"} 0.0075
`;

const LLAMA = `# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 143
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 4
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 46
`;

const TGI = `# TYPE tgi_batch_current_size gauge
tgi_batch_current_size 12
# TYPE tgi_batch_next_size histogram
tgi_batch_next_size_bucket{le="1"} 3
# TYPE tgi_queue_size gauge
tgi_queue_size 5
tgi_queue_size_other 9
`;

test("readEngineGauges() finds nothing where no known engine wrote", () => {
  const pages = [
    "",
    "\n\n\r\n",
    PYTHON,
    "<html><body>vllm:num_requests_running 3</body></html>",
    '{"vllm:num_requests_running": 3}',
    "x vllm:num_requests_running 3",
    "Vllm:num_requests_running 3",
    "vllmnum_requests_running 3",
    "my_vllm:num_requests_running 3",
    "num_requests_running 3",
    "# vllm:num_requests_running 3",
    '{"vllm:num_requests_running",engine="0"} 3',
    "\u0000\u0001\ufffd",
  ];
  for (const page of pages) {
    assertEquals(readEngineGauges(page), undefined, page);
  }
});

test("readEngineGauges() tells an engine that says nothing yet", () => {
  const pages: [page: string, engine: string][] = [
    ["# HELP sglang:num_running_reqs The number.", "sglang"],
    ["# TYPE sglang:token_usage gauge\n", "sglang"],
    ["sglang:startup_seconds 3", "sglang"],
    ['vllm:cache_config_info{engine="0"} 1.0', "vllm"],
    ["vllm:num_requests_running NaN", "vllm"],
    ["tgi_request_count 1", "tgi"],
  ];
  for (const [page, engine] of pages) {
    assertEquals(readEngineGauges(page), said(engine, {}), page);
  }
});

test("readEngineGauges() reads each engine's page, however lines end", () => {
  const pages: [page: string, gauges: EngineGauges][] = [
    [
      VLLM,
      said("vllm", {
        running: 7,
        waiting: 2,
        cacheUsage: 0.0975,
        prefixQueries: 1_200_000,
        prefixHits: 900_000,
      }),
    ],
    [
      SGLANG,
      said("sglang", {
        running: 8,
        waiting: 4,
        cacheUsage: 0.28,
        prefixHitRate: 0.0075,
      }),
    ],
    [LLAMA, said("llama.cpp", { running: 4, waiting: 46 })],
    [
      `${LLAMA}llamacpp:kv_cache_usage_ratio 0.5\n`,
      said("llama.cpp", { running: 4, waiting: 46, cacheUsage: 0.5 }),
    ],
    [TGI, said("tgi", { running: 12, waiting: 5 })],
  ];
  for (const [page, gauges] of pages) {
    for (
      const written of [
        page,
        page.trimEnd(),
        page.replaceAll("\n", "\r\n"),
        page.replaceAll("\n", "\n\n  \n"),
        page.replaceAll(/^/gm, "\t "),
        page.replaceAll(/^(\w+):/gm, "$1_"),
      ]
    ) assertEquals(readEngineGauges(written), gauges, written);
  }
});

test("readEngineGauges() reads every name by every way to write it", () => {
  for (const { engine, prefix, names } of ENGINE_DIALECTS) {
    for (const gauge of GAUGE_NAMES) {
      for (const name of names[gauge] ?? []) {
        for (const form of [name, name.replace(/_total$/, "")]) {
          for (const joint of [":", "_"]) {
            const page = `${prefix}${joint}${form}{a="b"} 0.5`;
            const gauges = said(engine, { [gauge]: 0.5 });
            assertEquals(readEngineGauges(page), gauges, page);
          }
        }
      }
    }
  }
});

test("no name stands for two gauges", () => {
  const all = ENGINE_DIALECTS.flatMap(({ prefix, names }) =>
    Object.values(names).flatMap((list) =>
      list.map((name) => `${prefix}:${name.replace(/_total$/, "")}`)
    )
  );
  assertEquals(all.length, new Set(all).size);
  assertEquals(
    new Set(ENGINE_DIALECTS.map(({ engine }) => engine)).size,
    ENGINE_DIALECTS.length,
  );
});

test("the series of ranks become one number", () => {
  const rows: [page: string, known: Partial<EngineGauges>][] = [
    // Data-parallel ranks, and two models.
    [
      'vllm:num_requests_waiting{engine="0"} 3\n' +
      'vllm:num_requests_waiting{engine="1"} 4\n' +
      'vllm:num_requests_waiting{engine="1",model_name="b"} 5\n',
      { waiting: 12 },
    ],
    [
      'vllm:kv_cache_usage_perc{engine="0"} 0.2\n' +
      'vllm:kv_cache_usage_perc{engine="1"} 0.9\n',
      { cacheUsage: 0.9 },
    ],
    // Two names of one gauge are one number, and the newer one counts.
    [
      "vllm:gpu_cache_usage_perc 0.9\nvllm:kv_cache_usage_perc 0.2\n",
      { cacheUsage: 0.2 },
    ],
    // Of one name that cannot be used, another of the gauge is taken.
    [
      "vllm:kv_cache_usage_perc NaN\nvllm:gpu_cache_usage_perc 0.3\n",
      { cacheUsage: 0.3 },
    ],
    // One name written in both ways.
    ["vllm:num_requests_running 4\nvllm_num_requests_running 4\n", {
      running: 4,
    }],
    // A series that stands there twice is there once.
    [
      'vllm:num_requests_running{a="1",b="2"} 4\n' +
      'vllm:num_requests_running{b="2",a="1"} 4\n',
      { running: 4 },
    ],
  ];
  for (const [page, known] of rows) {
    assertEquals(readEngineGauges(page), said("vllm", known), page);
  }
});

test("series that repeat a number are not added up", () => {
  const rows: [page: string, known: Partial<EngineGauges>][] = [
    // Ranks of tensor parallelism work on the same requests.
    [
      [0, 1, 2, 3].map((rank) =>
        `sglang:num_running_reqs{dp_rank="0",tp_rank="${rank}"} 6\n`
      ).join(""),
      { running: 6 },
    ],
    [
      [0, 1, 2, 3].map((rank) =>
        `sglang:num_running_reqs{dp_rank="${rank}",tp_rank="${rank}"} 6\n`
      ).join(""),
      { running: 24 },
    ],
    // The total of all priorities stands beside them.
    [
      'sglang:num_queue_reqs{model_name="m",priority=""} 9\n' +
      'sglang:num_queue_reqs{model_name="m",priority="1"} 4\n' +
      'sglang:num_queue_reqs{model_name="m",priority="5"} 5\n',
      { waiting: 9 },
    ],
    [
      'sglang:cache_hit_rate{dp_rank="0"} 0.2\n' +
      'sglang:cache_hit_rate{dp_rank="1"} 0.6\n',
      { prefixHitRate: 0.4 },
    ],
  ];
  for (const [page, known] of rows) {
    assertEquals(readEngineGauges(page), said("sglang", known), page);
  }
});

test("a gauge with a series that cannot be used is unknown", () => {
  const good = 'vllm:num_requests_waiting{engine="0"} 3\n' +
    "vllm:num_requests_running 1\n";
  const bad = [
    "",
    " ",
    " NaN",
    " -1",
    " +Inf",
    " 1e999",
    " many",
    " {5",
    "{ 5",
    '{engine="1} 5',
    `{engine="${"x".repeat(9_000)}"} 5`,
  ];
  for (const rest of bad) {
    const line = `vllm:num_requests_waiting${rest}\n`;
    for (const page of [good + line, line + good]) {
      assertEquals(readEngineGauges(page), said("vllm", { running: 1 }), rest);
    }
  }
  const overflow = 'vllm:num_requests_waiting{a="0"} 1e308\n' +
    'vllm:num_requests_waiting{a="1"} 1e308\n';
  assertEquals(readEngineGauges(overflow), said("vllm", {}));
});

test("a share is one up to its rounding, and unknown above", () => {
  const rows: [value: string, usage: number | undefined][] = [
    ["-0.1", undefined],
    ["45.2", undefined],
    ["1.02", undefined],
    ["1.009", 1],
    ["1", 1],
    ["0.999", 0.999],
    ["0", 0],
    ["-0", 0],
  ];
  for (const [value, cacheUsage] of rows) {
    const gauges = readEngineGauges(`llamacpp:kv_cache_usage_ratio ${value}`);
    assertEquals(gauges?.cacheUsage, cacheUsage, value);
  }
  const page = "vllm:gpu_prefix_cache_hit_rate -1.0\n";
  assertEquals(readEngineGauges(page), said("vllm", {}));
});

test("more series than any engine has are not kept", () => {
  const rows: [count: number, waiting: number | undefined][] = [
    [1_025, undefined],
    [1_024, 1_024],
    [1_023, 1_023],
  ];
  for (const [count, waiting] of rows) {
    let page = "";
    for (let at = 0; at < count; at++) page += `tgi_queue_size{a="${at}"} 1\n`;
    assertEquals(readEngineGauges(page)?.waiting, waiting, `${count}`);
  }
});

test("of several engines on a page the first that says something counts", () => {
  const rows: [page: string, engine: string][] = [
    [LLAMA + VLLM, "vllm"],
    [`vllm:cache_config_info 1\n${SGLANG}`, "sglang"],
    ["tgi_request_count 1\nvllm:cache_config_info 1\n", "vllm"],
  ];
  for (const [page, engine] of rows) {
    assertEquals(readEngineGauges(page)?.engine, engine);
  }
});

/** Pieces of pages, joined in any order. */
const piece = fc.oneof(
  fc.constantFrom(
    ...VLLM.split("\n"),
    ...SGLANG.split("\n"),
    ...["\n", "\r\n", "{", "}", '"', "\\", ",", "=", "# TYPE ", " ", ":", "_"],
    ...["NaN", "-1", "1e309", "vllm", "sglang", "tgi", "llamacpp"],
  ),
  fc.string(),
  fc.string({ unit: "binary" }),
);

test("readEngineGauges() takes any page and gives numbers or nothing", () => {
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const gauges = readEngineGauges(pieces.join(""));
      if (gauges === undefined) return;
      for (const name of GAUGE_NAMES) {
        const value = gauges[name];
        if (value === undefined) continue;
        assert(Number.isFinite(value) && value >= 0, name);
        if (name === "cacheUsage" || name === "prefixHitRate") {
          assert(value <= 1, name);
        }
      }
    }),
    { numRuns: 1_000 },
  );
});

test("a cut page says less, or the same, but never a part of a sum", () => {
  const page = 'tgi_queue_size{a="0"} 30\ntgi_batch_current_size 4\n';
  const whole = readEngineGauges(page);
  for (let length = 0; length < page.length; length++) {
    const gauges = readEngineGauges(page.slice(0, length));
    // A cut within a number is the one thing that cannot be seen.
    if (/\d$/.test(page.slice(0, length))) continue;
    for (const name of GAUGE_NAMES) {
      const value = gauges?.[name];
      if (value !== undefined) assertEquals(value, whole?.[name], `${length}`);
    }
  }
});
