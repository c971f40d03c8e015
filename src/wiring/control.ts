/**
 * The control side of a gateway: what is known of the endpoints, and what can
 * be seen of the whole. It runs on the main thread and carries no traffic.
 *
 * Invariant: it owns the shared state; the gateways in front of it may come
 * and go.
 *
 * @module
 */
import type { Registry } from "prom-client";
import {
  type EndpointStatus,
  type HoldingReading,
  metricsRegistry,
  type ProcessReading,
} from "../admin/metrics/metrics.ts";
import type { Config } from "../config/config.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Outside } from "../core/outside.ts";
import type { PlanMemory } from "../core/placement/plan_memory.ts";
import { Directory } from "../discovery/directory.ts";
import { HealthBook } from "../discovery/health_book.ts";
import type { RoutesData } from "../gateway/routes.ts";
import { watchLoop } from "../system/loop_watch.ts";
import { drawPlaceSecret } from "../system/place_secret.ts";
import {
  type Change,
  EndpointOverrides,
  type Overridable,
} from "./endpoint_overrides.ts";
import { EndpointQuestions } from "./endpoint_questions.ts";
import { LeavingEndpoints } from "./leaving_endpoints.ts";
import { readChanges, readHoldings, readProcess } from "./readings.ts";
import { reclaimWorker } from "./reclaim.ts";
import { KeyIssuer, type Secrets } from "./secrets.ts";
import { SessionCensus } from "./session_census.ts";
import { createSharedState, type SharedState } from "./shared_state.ts";

/**
 * Milliseconds between two looks at the health of endpoints: probes start late
 * by up to as much, which is little beside their intervals.
 */
const TICK_MS = 250;

/** What a control side is made of. */
export interface ControlParts {
  readonly config: Config;
  readonly outside: Outside;
  readonly workerCount: number;
  /** What endpoints want to be shown, by their ids. */
  readonly credentials?: Credentials | undefined;
}

type Credentials = Secrets["credentials"];

/** The control side of one gateway. */
export class Control {
  readonly state: SharedState;
  readonly directory: Directory;
  readonly keys: KeyIssuer;
  readonly metrics: Registry;
  readonly #parts: ControlParts;
  #config: Config;
  #credentials: Credentials;
  readonly #health: HealthBook;
  readonly #questions: EndpointQuestions;
  readonly #overrides = new EndpointOverrides();
  readonly #leaving: LeavingEndpoints;
  readonly #census: SessionCensus;
  #publish: (routes: RoutesData) => void = () => {};
  readonly #startedAtMs: number;
  #deathCount = 0;
  #stopTicks: () => void = () => {};
  #stopLoopWatch: () => void = () => {};

  constructor(parts: ControlParts) {
    const { config, credentials = new Map(), outside, workerCount } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#credentials = credentials;
    this.#startedAtMs = outside.clock.nowMs();
    this.state = createSharedState(config, {
      workerCount,
      // Restored sessions were last used before the start.
      epochMs: outside.clock.nowMs() - config.session.idleTtlMs,
      secret: drawPlaceSecret(),
    });
    this.keys = new KeyIssuer(this.state.buffers);
    this.#census = new SessionCensus({
      sessions: this.state.sessions,
      clock: outside.clock,
    });
    this.directory = new Directory({
      table: this.state.endpoints,
      capacity: this.state.capacity,
      log: outside.log,
      publish: (routes) => this.#publish(routes),
    });
    this.#leaving = new LeavingEndpoints({
      table: this.state.endpoints,
      log: outside.log,
    });
    this.#health = new HealthBook({ table: this.state.endpoints, outside });
    this.#questions = new EndpointQuestions({
      outside,
      config: () => this.#config,
      credentialOf: (id) => this.#credentials.get(id),
      directory: this.directory,
      health: this.#health,
      capacity: this.state.capacity,
    });
    this.metrics = metricsRegistry({
      counters: this.state.counters,
      endpoints: () => this.endpoints(),
      holdings: () => this.holdings(),
      process: () => this.process(),
      tenants: () => this.keys.tenants(),
    });
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config;
  }

  /**
   * Takes the configured endpoints and starts to look at them.
   *
   * @param memory What a former gateway knew of them.
   */
  start(memory?: PlanMemory): void {
    if (memory !== undefined) this.directory.remember(memory);
    this.replace(this.#parts.config.endpoints);
    this.#census.start();
    this.#tick();
    const { lags } = this.state;
    const { outside, workerCount } = this.#parts;
    this.#stopLoopWatch = watchLoop(outside.clock, lags, workerCount);
  }

  /** Takes a whole list of endpoints; what is known of those kept stays. */
  replace(
    configured: readonly EndpointSpec[],
    config: Config = this.#config,
  ): void {
    const specs = this.#overrides.apply(configured);
    this.directory.replace(specs);
    this.#questions.stopProbes();
    const ids = specs.map(({ id }) => id);
    this.#leaving.replace(ids, (id) => this.directory.slotOf(id));
    const { endpoints, endpointTraffic } = this.state;
    for (const { id } of specs) {
      const slot = this.directory.slotOf(id);
      endpointTraffic.begin(slot, endpoints.generation(slot));
    }
    this.#health.replace(specs, (id) => this.directory.slotOf(id));
    this.#questions.watch(specs, config.engineMetrics);
  }

  /**
   * Takes a new configuration, as far as it is not fixed since the start, and
   * publishes nothing: its routes belong into one message with the rest.
   *
   * @param credentials Those of before, unless given.
   * @throws {RangeError} when there is no room for its endpoints; then nothing
   * has changed.
   */
  reload(
    config: Config,
    credentials: Credentials = this.#credentials,
  ): RoutesData {
    const publish = this.#publish;
    this.#publish = () => {};
    try {
      this.replace(config.endpoints, config);
      this.#config = config;
      this.#credentials = credentials;
    } finally {
      this.#publish = publish;
    }
    this.state.sessions.setIdleTtl(config.session.idleTtlMs);
    return this.directory.routes;
  }

  /**
   * Has an endpoint finish its requests and take no more, bound sessions
   * included, until it is restored.
   *
   * @returns False when it is not listed.
   */
  drain(id: string): boolean {
    return this.#health.drain(id);
  }

  /** Lets a drained endpoint take work again, once it is seen to be well. */
  restore(id: string): boolean {
    return this.#health.restore(id);
  }

  /** Sets something of an endpoint; false when it is not listed. */
  override<Name extends keyof Overridable>(change: Change<Name>): boolean {
    const specs = this.#overrides.set(this.directory.endpoints, change);
    if (specs === undefined) return false;
    this.directory.replace(specs);
    const { id, name, to } = change;
    const value = to === undefined ? "configured" : String(to.value ?? "none");
    this.#parts.outside.log("info", "endpoint.override", { id, name, value });
    return true;
  }

  /** Has `publish` take every new list from now on. */
  onRoutes(publish: (routes: RoutesData) => void): void {
    this.#publish = publish;
  }

  /** Looks no more and closes its connections. */
  stop(): void {
    this.#census.stop();
    this.#stopTicks();
    this.#stopLoopWatch();
    this.#questions.stop();
  }

  /** Takes back what a dead worker's requests held. */
  workerDied(index: number): void {
    this.#deathCount += 1;
    const nowMs = this.#parts.outside.clock.nowMs();
    reclaimWorker(this.#parts.config, this.state, { index, nowMs });
  }

  /** Every listed endpoint as it is now. */
  endpoints(): EndpointStatus[] {
    const { endpoints, endpointTraffic } = this.state;
    const nowMs = this.#parts.outside.clock.nowMs();
    return this.directory.endpoints.map(({ id }) => {
      const slot = this.directory.slotOf(id);
      const record = this.#health.record(id);
      return {
        id,
        state: endpoints.state(slot) ?? "probing",
        sinceMs: record?.health.sinceMs ?? 0,
        inFlight: endpoints.inFlight(slot),
        sessions: this.#census.boundTo(slot),
        totals: endpointTraffic.totals(slot),
        limit: endpoints.limit(slot) || undefined,
        ...this.#questions.reading(id),
        failures: endpoints.failures(slot),
        isBusy: endpoints.isBusy(slot, nowMs),
        ejections: record?.ejections ?? new Map(),
        probes: record?.probes ?? new Map(),
      };
    });
  }

  /** What the gateway holds now. */
  holdings(): HoldingReading {
    return readHoldings(this.#parts.config, this.state);
  }

  /** What the process uses. */
  process(): ProcessReading {
    return readProcess(this.state, {
      startedAtMs: this.#startedAtMs,
      nowMs: this.#parts.outside.clock.nowMs(),
      workerDeaths: this.#deathCount,
    });
  }

  /** Unlike before once a request has begun or ended. */
  sessionChanges(): string {
    return readChanges(this.#parts.config, this.state);
  }

  /** How many endpoints take work, of how many. */
  readiness(): { readonly eligible: number; readonly total: number } {
    const endpoints = this.endpoints();
    const eligible = endpoints.filter(({ state }) => state === "ready").length;
    return { eligible, total: endpoints.length };
  }

  #tick(): void {
    this.#health.look();
    this.#leaving.look();
    this.#questions.probe();
    const { clock } = this.#parts.outside;
    this.#stopTicks = clock.after(TICK_MS, () => this.#tick());
  }
}
