/**
 * What engines say of themselves, on its way to the learned limits and to
 * whoever shows it.
 *
 * Invariant: a reading that is not fresh any more is shown to nobody.
 *
 * @module
 */
import type { EndpointStatus } from "../admin/metrics/metrics.ts";
import type { EngineMetricsSettings } from "../config/engine_metrics.ts";
import type { CapacityTable } from "../core/endpoints/capacity_table.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { EngineGauges } from "../core/engines/engine_metrics.ts";
import type { Outside } from "../core/outside.ts";
import { GaugeWatch } from "../discovery/engine_gauges.ts";
import type { CredentialOf } from "../discovery/question.ts";
import type { UpstreamClient } from "../upstream/client.ts";

/** What a watch of engines is made of. */
export interface EngineWatchParts {
  readonly outside: Outside;
  readonly upstream: UpstreamClient;
  readonly credentialOf: CredentialOf;
  readonly isReady: (id: string) => boolean;
  /** The slot of a listed endpoint. */
  readonly slotOf: (id: string) => number;
  readonly capacity: CapacityTable;
}

/** Watches the engines of all listed endpoints. */
export class EngineWatch {
  readonly #parts: EngineWatchParts;
  readonly #gauges: GaugeWatch;

  constructor(parts: EngineWatchParts) {
    const { credentialOf, isReady, outside, upstream } = parts;
    this.#parts = parts;
    this.#gauges = new GaugeWatch({
      clock: outside.clock,
      log: outside.log,
      random: outside.random,
      upstream,
      credentialOf,
      isReady,
      report: (id, gauges) => this.#gauged(id, gauges),
    });
  }

  /** Watches exactly these from now on, which MUST be listed already. */
  watch(
    specs: readonly EndpointSpec[],
    { path, intervalMs }: EngineMetricsSettings,
  ): void {
    this.#gauges.watch(
      specs,
      path === undefined ? "none" : { path, intervalMs },
    );
  }

  /** Asks no more. */
  stop(): void {
    this.#gauges.stop();
  }

  /** What is known of a listed endpoint's engine and learned limit. */
  reading(id: string): Pick<EndpointStatus, "capacity" | "engine"> {
    const { capacity, outside, slotOf } = this.#parts;
    const reading = this.#gauges.reading(id);
    return {
      capacity: capacity.reading(slotOf(id)),
      engine: reading?.isFresh === true
        ? {
          gauges: reading.gauges,
          ageMs: outside.clock.nowMs() - reading.atMs,
        }
        : undefined,
    };
  }

  #gauged(id: string, gauges: EngineGauges): void {
    const { capacity, outside: { clock, log }, slotOf } = this.#parts;
    const slot = slotOf(id);
    const { running, waiting, cacheUsage } = gauges;
    const nowMs = clock.nowMs();
    const cause = capacity.gauged(slot, {
      running,
      waiting,
      cacheUsage,
      nowMs,
    });
    if (cause === undefined) return;
    const limit = capacity.reading(slot)?.limit;
    log("debug", "endpoint.limit", { id, limit, cause, running, waiting });
  }
}
