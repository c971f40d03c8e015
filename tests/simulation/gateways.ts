/**
 * The gateways of a simulated world: the real parts, put together as a worker
 * thread puts them together, on the world's clock, network and chance.
 *
 * This is the only file that knows how a gateway is made.
 *
 * Invariant: nothing of a gateway is stood in for but what it asks of the
 * outside, and the probes of the control side, which are replaced by what the
 * world says about its endpoints.
 *
 * @module
 */
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import type { Config } from "../../src/config/config.ts";
import { complaintsText, parseConfig } from "../../src/config/parse.ts";
import type { EndpointSpec, EndpointState } from "../../src/core/endpoint.ts";
import { Ledger } from "../../src/core/placement/ledger.ts";
import type { Outside } from "../../src/core/outside.ts";
import { Directory } from "../../src/discovery/directory.ts";
import { HealthBook } from "../../src/discovery/health_book.ts";
import { assembleGateway, type Assembly } from "../../src/wiring/assembly.ts";
import { budgetOf, createSharedState } from "../../src/wiring/shared_state.ts";
import type { Handle } from "./client.ts";

/** What the tables of a gateway hold of one endpoint. */
export interface EndpointSight {
  readonly id: string;
  /** `removed` when it is not listed. */
  readonly state: EndpointState | "removed";
  readonly inFlight: number;
  /** 0 for no limit. */
  readonly limit: number;
  /** Whether the engine has asked to be left alone for now. */
  readonly isBusy: boolean;
}

/** What is held in the tables, for the end of a world. */
export interface HeldInTables {
  readonly pins: number;
  readonly requests: number;
  readonly sniffBytes: number;
  readonly received: number;
  readonly ended: number;
}

/** The configuration of a world; unknown keys are refused. */
export function configOf(document: Record<string, unknown>): Config {
  const result = parseConfig(document, { names: LOAD_NAMES, overrides: [] });
  if (result.kind === "accepted") return result.config;
  throw new Error(complaintsText(result.complaints));
}

/** Tables, and the gateways that share them. */
export class GatewayGroup {
  readonly gateways: readonly SimulatedGateway[];
  readonly #config: Config;
  readonly #outside: Outside;
  readonly #state: ReturnType<typeof createSharedState>;
  readonly #budget: ReturnType<typeof budgetOf>;
  readonly #directory: Directory;
  readonly #health: HealthBook;
  readonly #assemblies: readonly Assembly[];
  readonly #rings: number[] = [];

  /** @param outsides One for each gateway of the group. */
  constructor(config: Config, outsides: readonly Outside[]) {
    const [outside] = outsides;
    if (outside === undefined) throw new Error("Cannot group no gateways");
    this.#config = config;
    this.#outside = outside;
    this.#state = createSharedState(config, {
      workerCount: outsides.length,
      epochMs: outside.clock.nowMs(),
      // The same in each run, as everything else of a simulation.
      secret: { low: 0, high: 0 },
    });
    this.#budget = budgetOf(config, this.#state.buffers, 0);
    this.#directory = new Directory({
      table: this.#state.endpoints,
      capacity: this.#state.capacity,
      log: outside.log,
      publish: (routes) => {
        for (const assembly of this.#assemblies ?? []) {
          assembly.reroute(routes);
        }
      },
    });
    this.#health = new HealthBook({ table: this.#state.endpoints, outside });
    this.list(config.endpoints);
    this.#assemblies = outsides.map((outside, index) =>
      assembleGateway({
        config,
        buffers: this.#state.buffers,
        index,
        routes: this.#directory.routes,
        outside,
        // Compression runs on a thread pool, which no virtual clock knows.
        inflate: () => undefined,
      })
    );
    this.gateways = this.#assemblies.map((assembly, index) =>
      new SimulatedGateway(assembly, this.#state.buffers.ledgers[index])
    );
  }

  /** The endpoints that discovery lists from now on. */
  list(specs: readonly EndpointSpec[]): void {
    this.#directory.replace(specs);
    this.#health.replace(specs, (id) => this.#directory.slotOf(id));
  }

  /** Takes over what traffic has shown of endpoints, as a tick does. */
  tick(): void {
    this.#health.look();
  }

  /** Has every gateway hear what others have handed over to it. */
  ring(): void {
    this.#assemblies.forEach(({ admission, bell }, index) => {
      const rings = bell.words[bell.index] ?? 0;
      if (this.#rings[index] === rings) return;
      this.#rings[index] = rings;
      admission.collect();
    });
  }

  /** What a probe found; nothing when the endpoint is not listed. */
  report(
    id: string,
    { isReached, models }: {
      readonly isReached: boolean;
      readonly models: readonly string[] | undefined;
    },
  ): void {
    // The models come before the work: they decide on the pools.
    if (isReached) this.#directory.listed(id, models);
    this.#health.probed(id, {
      result: isReached ? "passed" : "failed",
      detail: "as the world says",
    });
  }

  /** Drains an endpoint, or takes it back; nothing when it is not listed. */
  drain(id: string, isDraining: boolean): void {
    if (isDraining) this.#health.drain(id);
    else this.#health.restore(id);
  }

  /** How the tables see the configured endpoints. */
  sights(): EndpointSight[] {
    const { endpoints } = this.#state;
    return this.#config.endpoints.map(({ id }) => {
      if (!this.#isListed(id)) {
        return { id, state: "removed", inFlight: 0, limit: 0, isBusy: false };
      }
      const slot = this.#directory.slotOf(id);
      return {
        id,
        state: endpoints.state(slot) ?? "removed",
        inFlight: endpoints.inFlight(slot),
        limit: endpoints.limit(slot),
        isBusy: endpoints.isBusy(slot, this.#outside.clock.nowMs()),
      };
    });
  }

  /** Sessions in the table, and how often there was no room for one so far. */
  sessions(): { readonly occupied: number; readonly evictions: number } {
    const { occupied, evictions, fullBuckets } = this.#state.sessions.gauges();
    return { occupied, evictions: evictions + fullBuckets };
  }

  /** Requests that the gateways of the group count as theirs. */
  requestCount(): number {
    return this.#budget.held().requests;
  }

  held(): HeldInTables {
    const { sessions, counters } = this.#state;
    let pins = 0;
    sessions.sweep({
      from: 0,
      count: sessions.capacity,
      nowMs: this.#outside.clock.nowMs(),
    }, (session) => pins += session.pins);
    const { layout } = counters;
    const sum = (name: string) => {
      const from = layout.offset(name);
      const { values } = layout.families.find((one) => one.name === name) ??
        { values: [] };
      return values.reduce((all, _, at) => all + counters.sum(from + at), 0);
    };
    return {
      ...this.#budget.held(),
      pins,
      received: sum("tryst_requests_received_total"),
      ended: sum("tryst_requests_total"),
    };
  }

  #isListed(id: string): boolean {
    return this.#directory.endpoints.some((spec) => spec.id === id);
  }
}

/** One gateway of a group. */
export class SimulatedGateway {
  readonly #assembly: Assembly;
  readonly #ledger: SharedArrayBuffer | undefined;

  constructor(assembly: Assembly, ledger: SharedArrayBuffer | undefined) {
    this.#assembly = assembly;
    this.#ledger = ledger;
  }

  readonly handle: Handle = (request) => this.#assembly.gateway.handle(request);

  /** Connections by what they are for, and what placement counts. */
  counts(): {
    readonly open: number;
    readonly idle: number;
    readonly exchanges: number;
    readonly placed: number;
    readonly settledTwice: number;
  } {
    const { placement, upstream } = this.#assembly;
    return {
      open: upstream.openCount,
      idle: upstream.idleCount,
      exchanges: upstream.inFlightCount,
      placed: placement.openCount,
      settledTwice: placement.settledTwiceCount,
    };
  }

  /** Requests in the ledger. */
  ledgerCount(): number {
    return new Ledger(this.#ledger).openCount;
  }

  close(): void {
    this.#assembly.upstream.close();
    this.#assembly.gateway.close();
  }
}
