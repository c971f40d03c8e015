/**
 * What the control side asks of endpoints: whether they are well, which models
 * they have, and how busy they are.
 *
 * Invariant: whoever asks keeps a deadline of its own, and none of them is
 * asked any more once they have been stopped.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { CapacityTable } from "../core/endpoints/capacity_table.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Outside } from "../core/outside.ts";
import type { Directory } from "../discovery/directory.ts";
import type { HealthBook } from "../discovery/health_book.ts";
import { ModelWatch } from "../discovery/model_watch.ts";
import { Prober } from "../discovery/prober.ts";
import type { CredentialOf } from "../discovery/question.ts";
import { UpstreamClient } from "../upstream/client.ts";
import { EngineWatch } from "./engine_watch.ts";

/** What questions are made of. */
export interface QuestionParts {
  readonly outside: Outside;
  /** The configuration in force. */
  readonly config: () => Config;
  readonly credentialOf: CredentialOf;
  readonly directory: Directory;
  readonly health: HealthBook;
  readonly capacity: CapacityTable;
}

/** Asks the listed endpoints. */
export class EndpointQuestions {
  readonly #health: HealthBook;
  readonly #upstream: UpstreamClient;
  readonly #models: ModelWatch;
  readonly #engines: EngineWatch;
  readonly #prober: Prober;

  constructor(parts: QuestionParts) {
    const { capacity, config, credentialOf, directory, health, outside } =
      parts;
    const { clock } = outside;
    const connect = () => {
      const { connectMs } = config().timeouts;
      return new UpstreamClient(outside, { connectMs, idleMs: Infinity });
    };
    const upstream = connect();
    const isReady = (id: string) => health.isReady(id);
    this.#health = health;
    this.#upstream = upstream;
    this.#models = new ModelWatch({
      clock,
      upstream,
      credentialOf,
      isReady,
      report: (id, models) => directory.listed(id, models),
    });
    this.#engines = new EngineWatch({
      outside,
      upstream,
      credentialOf,
      isReady,
      slotOf: (id) => directory.slotOf(id),
      capacity,
    });
    this.#prober = new Prober({
      clock,
      connect,
      credentialOf,
      due: () => health.due(),
      prepare: (endpoint) => this.#prepare(endpoint),
      report: (id, outcome) => health.probed(id, outcome),
    });
  }

  /** Asks exactly these from now on, which MUST be listed already. */
  watch(
    specs: readonly EndpointSpec[],
    engineMetrics: Config["engineMetrics"],
  ): void {
    this.#models.watch(specs);
    this.#engines.watch(specs, engineMetrics);
  }

  /** Starts the probes that are due. */
  probe(): void {
    this.#prober.run();
  }

  /** Breaks probes off, unreported. */
  stopProbes(): void {
    this.#prober.stop();
  }

  /** What an endpoint's engine has said of itself. */
  reading(id: string): ReturnType<EngineWatch["reading"]> {
    return this.#engines.reading(id);
  }

  /** Asks no more, and closes its connections. */
  stop(): void {
    this.#prober.stop();
    this.#models.stop();
    this.#engines.stop();
    this.#upstream.close();
  }

  /** The models come before the work: they decide on the pools. */
  #prepare(endpoint: EndpointSpec): Promise<void> {
    return this.#health.isReady(endpoint.id)
      ? Promise.resolve()
      : this.#models.refresh(endpoint);
  }
}
