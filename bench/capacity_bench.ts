/**
 * What learning an endpoint's limit adds to an answer.
 *
 * Run with `deno bench -A bench/capacity_bench.ts`. Wanted: under 100 ns.
 *
 * Invariant: the sample is one object, as on the request path, so that only
 * the learning is measured.
 *
 * @module
 */
import {
  type CapacitySample,
  CapacityTable,
} from "../src/core/endpoints/capacity_table.ts";
import { EndpointTable } from "../src/core/endpoints/endpoint_table.ts";

const endpoints = new EndpointTable();
const capacity = new CapacityTable(endpoints);
capacity.setLearning(0, true);

/** A real clock's magnitude: it does not fit a word. */
const nowMs = 1_764_000_000_000;

const sample = {
  kind: "stream" as const,
  requestBytes: 30_000,
  firstByteMs: 50.5,
  inFlightAtStart: 1_024,
  nowMs,
} satisfies CapacitySample;

let turn = 0;

Deno.bench({
  name: "answer, with a decision every 16",
  group: "answered()",
  baseline: true,
  fn() {
    // Time passes by as many answers, so that all of them count.
    sample.nowMs = nowMs + 100 * turn++;
    capacity.answered(0, sample);
  },
});

Deno.bench({
  name: "answer that was sent before the round began",
  group: "answered()",
  fn() {
    sample.nowMs = nowMs;
    capacity.answered(0, sample);
  },
});

Deno.bench({
  name: "answer of an endpoint whose limit is configured",
  group: "answered()",
  fn() {
    capacity.answered(1, sample);
  },
});

Deno.bench({
  name: "tryReserve() and release()",
  group: "answered()",
  fn() {
    if (endpoints.tryReserve(0)) endpoints.release(0);
  },
});
