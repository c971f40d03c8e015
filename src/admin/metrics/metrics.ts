/**
 * The metrics page, in the Prometheus text format.
 *
 * Invariant: values are read when the page is asked for, summed over all
 * workers, and a series exists only for what exists now: an endpoint that is
 * gone has none. The values of labels are closed lists, and what is
 * configured; nothing that a client sends becomes one.
 *
 * @module
 */
import type { Registry } from "prom-client";
import type { Counters } from "../../core/counting/counters.ts";
import { type EndpointStatus, registerEndpoints } from "./endpoint_metrics.ts";
import { registerHistograms } from "./histogram_metrics.ts";
import { type HoldingReading, registerHoldings } from "./holding_metrics.ts";
import { type ProcessReading, registerProcess } from "./process_metrics.ts";
import { ReadRegistry, registerRead } from "./read_metrics.ts";
import { registerTenants, type TenantReading } from "./tenant_metrics.ts";
import { registerTunnels } from "./tunnel_metrics.ts";

export type { EndpointStatus } from "./endpoint_metrics.ts";
export type { HoldingReading } from "./holding_metrics.ts";
export type { ProcessReading } from "./process_metrics.ts";
export type { TenantReading } from "./tenant_metrics.ts";

/** What the page reads. */
export interface MetricsSources {
  readonly counters: Counters;
  readonly endpoints: () => readonly EndpointStatus[];
  readonly holdings: () => HoldingReading;
  readonly process: () => ProcessReading;
  readonly tenants: () => readonly TenantReading[];
}

/** Builds the registry; `registry.metrics()` renders the page. */
export function metricsRegistry(sources: MetricsSources): Registry {
  const registry = new ReadRegistry();
  const registers = [registry];
  registerCounters(sources.counters, registers);
  registerHistograms(sources.counters, registers);
  registerTunnels(sources.counters, registers);
  registerEndpoints(sources.endpoints, registers);
  registerHoldings(sources.holdings, registers);
  registerTenants(sources.tenants, registers);
  registerProcess(sources.process, registers);
  return registry;
}

/** The families that the workers count. */
function registerCounters(counters: Counters, registers: Registry[]): void {
  const families = counters.layout.families.map((family) => {
    const { help, label, name, values } = family;
    const offset = counters.layout.offset(name);
    return {
      kind: "counter",
      name,
      help,
      labels: label === undefined ? [] : [label],
      read: () =>
        values.map((value, index) =>
          [
            label === undefined ? {} : { [label]: value },
            counters.sum(offset + index),
          ] as const
        ),
    } as const;
  });
  registerRead(families, registers);
}
