/**
 * The metrics of tenants.
 *
 * Invariant: the label is a tenant that has keys, or `other`; there are as
 * many as the configuration may have, whatever clients present.
 *
 * @module
 */
import type { Registry } from "prom-client";
import { TENANT_OUTCOMES } from "../../core/tenants/tenant_tally.ts";
import { registerRead } from "./read_metrics.ts";

/** A tenant as it is now. */
export interface TenantReading {
  readonly tenant: string;
  /** Requests under way. */
  readonly running: number;
  /** Those of them that wait for an endpoint. */
  readonly waiting: number;
  /** Requests ended, in the order of `TENANT_OUTCOMES`. */
  readonly counts: readonly number[];
}

/** Puts the families of tenants on the page. */
export function registerTenants(
  read: () => readonly TenantReading[],
  registers: Registry[],
): void {
  registerRead([
    {
      kind: "counter",
      name: "tryst_tenant_requests_total",
      help: "Requests of a tenant ended, by the class of the status that its " +
        "client was told, or by what kept it from an answer.",
      labels: ["tenant", "outcome"],
      read: () =>
        read().flatMap(({ counts, tenant }) =>
          TENANT_OUTCOMES.map((outcome, at) =>
            [{ tenant, outcome }, counts[at] ?? 0] as const
          )
        ),
    },
    {
      kind: "gauge",
      name: "tryst_tenant_requests_in_flight",
      help: "Requests of a tenant that have begun and not ended.",
      labels: ["tenant"],
      read: () =>
        read().map(({ running, tenant }) => [{ tenant }, running] as const),
    },
    {
      kind: "gauge",
      name: "tryst_tenant_queue_waiting",
      help: "Those of them that wait for a place.",
      labels: ["tenant"],
      read: () =>
        read().map(({ tenant, waiting }) => [{ tenant }, waiting] as const),
    },
  ], registers);
}
