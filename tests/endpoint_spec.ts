/**
 * An endpoint for tests of what is known of endpoints.
 *
 * Invariant: it is whole, and only what a test names differs from one to the
 * next.
 *
 * @module
 */
import type { HealthSettings } from "../src/core/endpoints/health_settings.ts";
import type { EndpointSpec } from "../src/core/endpoint.ts";

/** Health as a configuration that says nothing has it. */
export const HEALTH: HealthSettings = {
  path: "auto",
  intervalMs: 5_000,
  timeoutMs: 2_000,
  healthyThreshold: 1,
  unhealthyThreshold: 3,
  failures: 3,
  backoffMs: 1_000,
  backoffMaxMs: 60_000,
  headers: [],
};

/** The endpoint `id`, at the host of that name. */
export function endpointSpec(
  id: string,
  changes: Partial<EndpointSpec> = {},
): EndpointSpec {
  return {
    id,
    address: { kind: "tcp", hostname: id, port: 1, tls: false },
    basePath: "",
    host: `${id}:1`,
    weight: 1,
    maxInFlight: undefined,
    onDisconnect: "abort",
    health: HEALTH,
    ...changes,
  };
}
