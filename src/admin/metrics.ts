/**
 * The metrics page, in the Prometheus text format.
 *
 * Invariant: values are read when the page is asked for, summed over all
 * workers, and a series exists only for what exists now: an endpoint that is
 * gone has none.
 *
 * @module
 */
import { Counter, Gauge, Registry } from "prom-client";
import type { Counters } from "../core/counters.ts";
import { ENDPOINT_STATES, type EndpointState } from "../core/endpoint.ts";
import { type EndpointHealth, registerHealth } from "./health_metrics.ts";
import { registerHistograms } from "./histogram_metrics.ts";
import { registerTunnels } from "./tunnel_metrics.ts";

/** An endpoint as it is now. */
export interface EndpointStatus extends EndpointHealth {
  readonly id: string;
  readonly state: EndpointState;
  /** When it entered that state, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
  readonly inFlight: number;
  /** Live sessions bound to it. */
  readonly sessions: number;
}

/** What the page reads. */
export interface MetricsSources {
  readonly counters: Counters;
  readonly endpoints: () => readonly EndpointStatus[];
  readonly sessions: () => {
    readonly live: number;
    readonly capacity: number;
    readonly evictions: number;
  };
  readonly workerDeaths: () => number;
}

/** Builds the registry; `registry.metrics()` renders the page. */
export function metricsRegistry(sources: MetricsSources): Registry {
  const registry = new Registry();
  const registers = [registry];
  registerCounters(sources.counters, registers);
  registerHistograms(sources.counters, registers);
  registerTunnels(sources.counters, registers);
  new Gauge({
    name: "tryst_endpoint_in_flight",
    help: "Requests in flight on an endpoint.",
    labelNames: ["endpoint"],
    registers,
    collect() {
      this.reset();
      for (const { id, inFlight } of sources.endpoints()) {
        this.set({ endpoint: id }, inFlight);
      }
    },
  });
  new Gauge({
    name: "tryst_endpoint_state",
    help: "1 for the state an endpoint is in, 0 for the others.",
    labelNames: ["endpoint", "state"],
    registers,
    collect() {
      this.reset();
      for (const endpoint of sources.endpoints()) {
        for (const state of ENDPOINT_STATES) {
          const value = endpoint.state === state ? 1 : 0;
          this.set({ endpoint: endpoint.id, state }, value);
        }
      }
    },
  });
  new Gauge({
    name: "tryst_endpoint_sessions",
    help: "Live sessions bound to an endpoint.",
    labelNames: ["endpoint"],
    registers,
    collect() {
      this.reset();
      for (const { id, sessions } of sources.endpoints()) {
        this.set({ endpoint: id }, sessions);
      }
    },
  });
  registerHealth(sources.endpoints, registers);
  registerTable(sources, registers);
  return registry;
}

/** The families that the workers count. */
function registerCounters(counters: Counters, registers: Registry[]): void {
  for (const family of counters.layout.families) {
    const { label } = family;
    new Counter({
      name: family.name,
      help: family.help,
      labelNames: label === undefined ? [] : [label],
      registers,
      collect() {
        this.reset();
        const offset = counters.layout.offset(family.name);
        family.values.forEach((value, index) => {
          const sum = counters.sum(offset + index);
          if (label === undefined) this.inc(sum);
          else this.inc({ [label]: value }, sum);
        });
      },
    });
  }
}

/** The session table and the workers. */
function registerTable(sources: MetricsSources, registers: Registry[]): void {
  new Gauge({
    name: "tryst_sessions",
    help: "Live sessions in the session table.",
    registers,
    collect() {
      this.set(sources.sessions().live);
    },
  });
  new Gauge({
    name: "tryst_session_capacity",
    help: "Records of the session table.",
    registers,
    collect() {
      this.set(sources.sessions().capacity);
    },
  });
  new Counter({
    name: "tryst_session_evictions_total",
    help: "Idle sessions given up for new ones.",
    registers,
    collect() {
      this.reset();
      this.inc(sources.sessions().evictions);
    },
  });
  new Counter({
    name: "tryst_worker_deaths_total",
    help: "Worker threads that died and were replaced.",
    registers,
    collect() {
      this.reset();
      this.inc(sources.workerDeaths());
    },
  });
}
