/**
 * The queue of a simulated gateway as a configuration has it.
 *
 * Invariant: what is not given is what a real gateway would do by default.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { QueueSettings } from "./virtual_gateway.ts";

/**
 * The settings of a configuration.
 *
 * @param inFlightMax Calls that a simulated engine gets at once; `undefined`
 * to have the limit learned.
 */
export function queueSettingsOf(
  config: Config,
  inFlightMax: number | undefined,
): QueueSettings {
  return {
    boostRatio: config.queue.boostRatio,
    overdueMs: config.queue.overdueMs ?? Infinity,
    timeoutMs: config.timeouts.queueMs ?? Infinity,
    patienceMs: config.routing.affinityPatienceMs,
    inFlightMax,
  };
}
