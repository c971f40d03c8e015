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
import { type EndpointStatus, metricsRegistry } from "../admin/metrics.ts";
import type { Config } from "../config/config.ts";
import { slotOfBinding } from "../core/binding.ts";
import { ENDPOINTS_MAX } from "../core/endpoint_table.ts";
import { Ledger } from "../core/ledger.ts";
import type { Outside } from "../core/outside.ts";
import { Directory } from "../discovery/directory.ts";
import { ModelWatch } from "../discovery/model_watch.ts";
import type { RoutesData } from "../gateway/routes.ts";
import { UpstreamClient } from "../upstream/client.ts";
import {
  budgetOf,
  createSharedState,
  type SharedState,
} from "./shared_state.ts";

/** An engine lists its models at once or is not well: milliseconds. */
const MODELS_ANSWER_MS = 5_000;

/** Milliseconds between two walks over the session table. */
const SWEEP_MS = 1_000;

/** What a control side is made of. */
export interface ControlParts {
  readonly config: Config;
  readonly outside: Outside;
  readonly workerCount: number;
}

/** The control side of one gateway. */
export class Control {
  readonly state: SharedState;
  readonly directory: Directory;
  readonly metrics: Registry;
  readonly #parts: ControlParts;
  readonly #upstream: UpstreamClient;
  readonly #watch: ModelWatch;
  #sessionsBySlot: readonly number[] = [];
  #publish: (routes: RoutesData) => void = () => {};
  #deathCount = 0;
  #stopSweeps: () => void = () => {};

  constructor(parts: ControlParts) {
    const { config, outside, workerCount } = parts;
    this.#parts = parts;
    this.state = createSharedState(config, {
      workerCount,
      epochMs: outside.clock.nowMs(),
    });
    this.directory = new Directory({
      table: this.state.endpoints,
      log: outside.log,
      publish: (routes) => this.#publish(routes),
    });
    this.#upstream = new UpstreamClient(outside, {
      connectMs: config.timeouts.connectMs,
      firstByteMs: MODELS_ANSWER_MS,
      idleMs: MODELS_ANSWER_MS,
    });
    this.#watch = new ModelWatch({
      clock: outside.clock,
      upstream: this.#upstream,
      report: (id, sighting) => this.directory.report(id, sighting),
    });
    this.metrics = metricsRegistry({
      counters: this.state.counters,
      endpoints: () => this.endpoints(),
      sessions: () => this.#sessionGauges(),
      workerDeaths: () => this.#deathCount,
    });
  }

  /** Takes the configured endpoints and starts to look at them. */
  start(): void {
    const { config } = this.#parts;
    this.directory.replace(config.endpoints);
    this.#watch.watch(config.endpoints);
    this.#sweep();
  }

  /** Has `publish` take every new list from now on. */
  onRoutes(publish: (routes: RoutesData) => void): void {
    this.#publish = publish;
  }

  /** Looks no more and closes its connections. */
  stop(): void {
    this.#stopSweeps();
    this.#watch.stop();
    this.#upstream.close();
  }

  /** Takes back what a dead worker's requests held. */
  workerDied(index: number): void {
    this.#deathCount += 1;
    const { sessions, endpoints, buffers } = this.state;
    const nowMs = this.#parts.outside.clock.nowMs();
    new Ledger(buffers.ledgers[index]).reclaim(sessions, endpoints, nowMs);
    budgetOf(this.#parts.config, buffers, index).reclaim();
  }

  /** Every listed endpoint as it is now. */
  endpoints(): EndpointStatus[] {
    const { endpoints } = this.state;
    return this.directory.endpoints.map(({ id }) => {
      const slot = this.directory.slotOf(id);
      return {
        id,
        state: endpoints.state(slot) ?? "probing",
        inFlight: endpoints.inFlight(slot),
        sessions: this.#sessionsBySlot[slot] ?? 0,
      };
    });
  }

  /** How many endpoints take work, of how many. */
  readiness(): { readonly eligible: number; readonly total: number } {
    const endpoints = this.endpoints();
    const eligible = endpoints.filter(({ state }) => state === "ready").length;
    return { eligible, total: endpoints.length };
  }

  #sessionGauges() {
    const { capacity, evictions } = this.state.sessions.gauges();
    const live = this.#sessionsBySlot.reduce((sum, count) => sum + count, 0);
    return { live, capacity, evictions };
  }

  /** Counts the live sessions by endpoint, and again later. */
  #sweep(): void {
    const { sessions } = this.state;
    const { clock } = this.#parts.outside;
    const bySlot: number[] = new Array(ENDPOINTS_MAX).fill(0);
    sessions.sweep(
      { from: 0, count: sessions.capacity, nowMs: clock.nowMs() },
      ({ bound }) => {
        if (bound === 0) return;
        const slot = slotOfBinding(bound);
        bySlot[slot] = (bySlot[slot] ?? 0) + 1;
      },
    );
    this.#sessionsBySlot = bySlot;
    this.#stopSweeps = clock.after(SWEEP_MS, () => this.#sweep());
  }
}
