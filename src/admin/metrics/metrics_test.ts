/**
 * The whole metrics page: named as Prometheus recommends, of bounded labels,
 * and true to what was counted.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { madeUpMetrics } from "../../../tests/admin/metric_families.ts";
import { test } from "../../../tests/leakproof.ts";

/** A family as a page shows it. */
interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Labels there are; each has values from a closed or configured list. */
const LABELS: ReadonlySet<string> = new Set([
  "below_bytes",
  "cause",
  "change",
  "deno",
  "direction",
  "endpoint",
  "level",
  "outcome",
  "phase",
  "result",
  "source",
  "state",
  "tenant",
  "thread",
  "version",
]);

/** Units that are no base units, as words of a name. */
const OTHER_UNITS =
  /_(ms|milliseconds|micros|microseconds|minutes|hours|kb|kib|mb|mib|kilobytes|megabytes|percent)(_|$)/;

/** What is wrong with a family's name, type or labels. */
function problems({ help, labels, name, type }: Family): string[] {
  const found: string[] = [];
  if (!/^(tryst|process)_[a-z0-9]+(_[a-z0-9]+)*$/.test(name)) {
    found.push("is not named as the others");
  }
  if ((type === "counter") !== name.endsWith("_total")) {
    found.push("is a counter or ends in _total, but not both");
  }
  if (/_(count|sum|bucket)$/.test(name)) found.push("ends as histograms do");
  if (OTHER_UNITS.test(name)) found.push("is not in a base unit");
  if (type === "histogram" && !/_(seconds|bytes)$/.test(name)) {
    found.push("is a histogram without a unit");
  }
  if (!/^[A-Z0-9].*[a-z0-9]\.$/.test(help)) found.push("has no sentence");
  for (const label of labels) {
    if (!LABELS.has(label)) found.push(`has a label "${label}"`);
    if (name.includes(`_by_${label}`)) found.push("names its label");
  }
  return found;
}

function families(): Family[] {
  const { registry } = madeUpMetrics({ endpointCount: 2, workerCount: 2 });
  return registry.getMetricsAsArray().map((metric) => ({
    name: metric.name,
    type: String(metric.type),
    help: metric.help,
    labels: "labelNames" in metric && Array.isArray(metric.labelNames)
      ? metric.labelNames.map(String)
      : [],
  }));
}

test("metrics are named as Prometheus recommends", () => {
  const planted: Family = {
    name: "tryst_things_total",
    type: "counter",
    help: "Things.",
    labels: [],
  };
  assertEquals(problems(planted), []);
  for (
    const wrong of [
      { name: "things_total" },
      { name: "tryst_Things_total" },
      { name: "tryst_things" },
      { type: "gauge" },
      { type: "gauge", name: "tryst_things_count" },
      { type: "gauge", name: "tryst_wait_ms" },
      { type: "histogram", name: "tryst_things" },
      { help: "" },
      { help: "things" },
      { labels: ["session"] },
      { labels: ["model"] },
    ]
  ) {
    const found = problems({ ...planted, ...wrong });
    assertEquals(found.length, 1, `${JSON.stringify(wrong)}: ${found}`);
  }
  const wrong = families().flatMap((family) =>
    problems(family).map((problem) => `${family.name} ${problem}`)
  );
  assertEquals(wrong, []);
});

test("the page is well-formed, and each series is there once", async () => {
  const { registry } = madeUpMetrics({ endpointCount: 3, workerCount: 2 });
  const page = await registry.metrics();
  const series = new Set<string>();
  for (const line of page.trimEnd().split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    assertMatch(
      line,
      /^[a-z_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? -?[\d.e+-]+$/,
    );
    const name = line.slice(0, line.lastIndexOf(" "));
    assert(!series.has(name), `${name} is there twice`);
    series.add(name);
  }
  for (const { name, type } of families()) {
    assert(page.includes(`# TYPE ${name} ${type}\n`), name);
    const shown = type === "histogram" ? `${name}_count` : name;
    const isThere = [...series].some((one) =>
      one === shown || one.startsWith(`${shown}{`)
    );
    assert(isThere, `${name} has no value`);
  }
});

test("the page sums what workers have counted, by endpoint too", async () => {
  const { registry, traffic } = madeUpMetrics({
    endpointCount: 2,
    workerCount: 2,
  });
  const [one, other] = traffic;
  assert(one !== undefined && other !== undefined);
  const placed = (outcome: "hit" | "moved") => ({
    ...PLACED,
    outcome,
    placedAtMs: 5_000,
  });
  one.attempted(placed("hit"));
  other.attempted(placed("moved"));
  other.endpointFailed(placed("moved"));
  one.firstByte(placed("hit"), 1_000, 5_250);
  one.relayed(placed("hit"), 100);
  other.relayed(placed("moved"), 11);
  one.times.chunkGap(30);
  other.times.waited("placed", 4_000);
  other.times.waited("gateway_stopping", 7);
  const lines = (await registry.metrics()).split("\n");
  const second = `endpoint="http://127.0.0.1:8001"`;
  for (
    const line of [
      `tryst_endpoint_attempts_total{${second}} 2`,
      `tryst_endpoint_attempts_total{endpoint="http://127.0.0.1:8000"} 0`,
      `tryst_endpoint_hits_total{${second}} 1`,
      `tryst_endpoint_attempt_failures_total{${second}} 1`,
      `tryst_endpoint_first_bytes_total{${second}} 1`,
      `tryst_endpoint_first_byte_seconds_total{${second}} 0.25`,
      `tryst_endpoint_response_bytes_total{${second}} 111`,
      `tryst_first_byte_seconds_sum 4.25`,
      `tryst_response_bytes_total 111`,
      `tryst_chunk_gap_seconds_bucket{le="0.05"} 1`,
      `tryst_chunk_gap_seconds_bucket{le="0.02"} 0`,
      `tryst_queue_wait_seconds_sum{outcome="placed"} 4`,
      `tryst_queue_wait_seconds_count{outcome="other"} 1`,
      `tryst_queue_waiting{level="overdue"} 0`,
      `tryst_queue_waiting{level="0"} 1`,
      `tryst_endpoint_baseline_seconds{${second},below_bytes="+Inf"} 0.4`,
    ]
  ) assert(lines.includes(line), line);
});

/** A placement on the second endpoint, as far as counting looks at it. */
const PLACED = {
  kind: "placed",
  slot: 1,
  index: 1,
  record: -1,
  entry: 0,
  arrivedAtMs: 0,
  inheritedMs: 0,
  inheritedWaitMs: 0,
  binding: 0,
  formerBinding: 0,
  waitedMs: 0,
  inFlight: 1,
  isOpen: true,
  // Nobody asks a placement for its pool here.
  pool: undefined as never,
} as const;
