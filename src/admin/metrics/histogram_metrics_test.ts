/**
 * Histograms on the metrics page are what Prometheus expects of one.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Registry } from "prom-client";
import { test } from "../../../tests/leakproof.ts";
import { CounterLayout, Counters } from "../../core/counting/counters.ts";
import {
  Histogram,
  type HistogramFamily,
} from "../../core/counting/histogram.ts";
import { registerHistograms } from "./histogram_metrics.ts";

const PHASE: HistogramFamily = {
  name: "tryst_phase_seconds",
  help: "By phase.",
  label: "phase",
  values: ["sniff", "relay"],
  bucketsMs: [1, 20, 5_000],
};

const REQUEST: HistogramFamily = {
  name: "tryst_request_seconds",
  help: "In all.",
  label: undefined,
  values: [""],
  bucketsMs: [1_000],
};

test("registerHistograms() prints cumulative buckets, sum and count", async () => {
  const layout = new CounterLayout([], [PHASE, REQUEST]);
  const buffer = new SharedArrayBuffer(Counters.bytesFor(layout, 2));
  const counters = new Counters(layout, buffer);
  const registry = new Registry();
  registerHistograms(counters, [registry]);
  for (const [worker, ms] of [[0, 0], [1, 1], [1, 20], [0, 9_000]] as const) {
    const cells = counters.row(worker);
    const of = (family: HistogramFamily) =>
      new Histogram(family, cells, layout.offset(family.name));
    of(PHASE).add(1, ms);
    of(REQUEST).add(0, ms);
  }
  assertEquals(
    await registry.metrics(),
    `# HELP tryst_phase_seconds By phase.
# TYPE tryst_phase_seconds histogram
tryst_phase_seconds_bucket{le="0.001",phase="sniff"} 0
tryst_phase_seconds_bucket{le="0.02",phase="sniff"} 0
tryst_phase_seconds_bucket{le="5",phase="sniff"} 0
tryst_phase_seconds_bucket{le="+Inf",phase="sniff"} 0
tryst_phase_seconds_sum{phase="sniff"} 0
tryst_phase_seconds_count{phase="sniff"} 0
tryst_phase_seconds_bucket{le="0.001",phase="relay"} 2
tryst_phase_seconds_bucket{le="0.02",phase="relay"} 3
tryst_phase_seconds_bucket{le="5",phase="relay"} 3
tryst_phase_seconds_bucket{le="+Inf",phase="relay"} 4
tryst_phase_seconds_sum{phase="relay"} 9.021
tryst_phase_seconds_count{phase="relay"} 4

# HELP tryst_request_seconds In all.
# TYPE tryst_request_seconds histogram
tryst_request_seconds_bucket{le="1"} 3
tryst_request_seconds_bucket{le="+Inf"} 4
tryst_request_seconds_sum 9.021
tryst_request_seconds_count 4
`,
  );
  const [, request] = await registry.getMetricsAsJSON();
  assertEquals(request?.values.map(({ labels, value }) => [labels, value]), [
    [{ le: 1 }, 3],
    [{ le: "+Inf" }, 4],
    [{}, 9.021],
    [{}, 4],
  ]);
});
