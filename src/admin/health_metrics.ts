/**
 * The metrics of the health of endpoints.
 *
 * Invariant: as in `metrics.ts`, an endpoint that is gone has no series.
 *
 * @module
 */
import { Counter, Gauge, type Registry } from "prom-client";

/** What has been seen of an endpoint's health. */
export interface EndpointHealth {
  readonly id: string;
  /** Requests in a row that failed by its fault. */
  readonly failures: number;
  /** Ejections by cause. */
  readonly ejections: ReadonlyMap<string, number>;
  /** Probes by result. */
  readonly probes: ReadonlyMap<string, number>;
}

/** Registers the families of health. */
export function registerHealth(
  endpoints: () => readonly EndpointHealth[],
  registers: Registry[],
): void {
  new Gauge({
    name: "tryst_endpoint_failures",
    help: "Requests in a row that failed by the endpoint's fault.",
    labelNames: ["endpoint"],
    registers,
    collect() {
      this.reset();
      for (const { id, failures } of endpoints()) {
        this.set({ endpoint: id }, failures);
      }
    },
  });
  new Counter({
    name: "tryst_endpoint_ejections_total",
    help: "Ejections of an endpoint, by cause: failures of requests, failed " +
      "probes or probes that timed out.",
    labelNames: ["endpoint", "cause"],
    registers,
    collect() {
      this.reset();
      for (const { id, ejections } of endpoints()) {
        for (const [cause, count] of ejections) {
          this.inc({ endpoint: id, cause }, count);
        }
      }
    },
  });
  new Counter({
    name: "tryst_endpoint_probes_total",
    help: "Probes of an endpoint, by result.",
    labelNames: ["endpoint", "result"],
    registers,
    collect() {
      this.reset();
      for (const { id, probes } of endpoints()) {
        for (const [result, count] of probes) {
          this.inc({ endpoint: id, result }, count);
        }
      }
    },
  });
}
