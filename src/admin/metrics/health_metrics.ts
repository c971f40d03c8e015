/**
 * The metrics of the health of endpoints.
 *
 * Invariant: an endpoint is out of service by its state alone; what else is
 * shown here says how it came to that, or will.
 *
 * @module
 */
import type { EndpointFamily } from "./endpoint_metrics.ts";

/** What has been seen of an endpoint's health. */
export interface EndpointHealth {
  readonly id: string;
  /** Requests in a row that failed by its fault. */
  readonly failures: number;
  /** Whether it has asked to be left alone for now. */
  readonly isBusy: boolean;
  /** Ejections by cause. */
  readonly ejections: ReadonlyMap<string, number>;
  /** Probes by result. */
  readonly probes: ReadonlyMap<string, number>;
}

/** The families of health. */
export const HEALTH_FAMILIES: readonly EndpointFamily<EndpointHealth>[] = [
  {
    kind: "gauge",
    name: "tryst_endpoint_failures",
    help: "Requests in a row that failed by the endpoint's fault.",
    read: ({ failures }) => failures,
  },
  {
    kind: "gauge",
    name: "tryst_endpoint_busy",
    help: "1 while an endpoint has asked to be left alone, by 429 or 503 " +
      "with Retry-After, else 0.",
    read: ({ isBusy }) => Number(isBusy),
  },
  {
    kind: "counter",
    name: "tryst_endpoint_ejections_total",
    help: "Ejections of an endpoint, by cause: failures of requests, failed " +
      "probes or probes that timed out.",
    labels: ["cause"],
    read: ({ ejections }) =>
      Array.from(ejections, ([cause, count]) => [{ cause }, count] as const),
  },
  {
    kind: "counter",
    name: "tryst_endpoint_probes_total",
    help: "Probes of an endpoint, by result.",
    labels: ["result"],
    read: ({ probes }) =>
      Array.from(probes, ([result, count]) => [{ result }, count] as const),
  },
];
