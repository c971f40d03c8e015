/**
 * What counting costs a request, and what a page of metrics costs.
 *
 * Run with `deno bench -A bench/metrics_bench.ts`.
 *
 * @module
 */
import { Roster } from "../src/core/roster.ts";
import { PHASES } from "../src/gateway/phase.ts";
import { madeUpMetrics } from "../tests/admin/metric_families.ts";

const page = madeUpMetrics({ endpointCount: 64, workerCount: 4 });
const traffic = page.traffic[0];

/** As many requests as a busy worker has under way. */
const UNDER_WAY = 1_000;

const roster = new Roster<{ rosterPlace: number }>();
for (let i = 0; i < UNDER_WAY; i++) roster.add({ rosterPlace: -1 });

/** A placement, as far as counting looks at it. */
const PLACED = {
  kind: "placed",
  outcome: "hit",
  slot: 7,
  index: 7,
  record: -1,
  entry: 0,
  arrivedAtMs: 0,
  inheritedMs: 0,
  inheritedWaitMs: 0,
  binding: 0,
  formerBinding: 0,
  placedAtMs: 0,
  waitedMs: 0,
  inFlight: 1,
  isOpen: true,
  pool: undefined as never,
} as const;

Deno.bench("count one request, whole", { group: "request" }, () => {
  if (traffic === undefined) return;
  traffic.received();
  traffic.keyed(3);
  traffic.attempted(PLACED);
  for (let phase = 0; phase < PHASES.length; phase++) {
    traffic.times.left(phase, phase);
  }
  traffic.firstByte(PLACED, 0, 12);
  traffic.relayed(PLACED, 1_024);
  traffic.answered(200);
  traffic.times.ended(20);
});

Deno.bench("of it, by endpoint", { group: "request" }, () => {
  if (traffic === undefined) return;
  traffic.attempted(PLACED);
  traffic.relayed(PLACED, 1_024);
});

Deno.bench(
  "join and leave the requests under way",
  { group: "request" },
  () => {
    const call = { rosterPlace: -1 };
    roster.add(call);
    roster.delete(call);
  },
);

Deno.bench("count one piece of a stream", { group: "piece" }, () => {
  if (traffic === undefined) return;
  traffic.times.chunkGap(Date.now() % 50);
  traffic.relayed(PLACED, 1_024);
});

Deno.bench("of it, the clock", { group: "piece" }, () => {
  Date.now();
});

Deno.bench("page of 64 endpoints and 4 workers", async () => {
  await page.registry.metrics();
});
