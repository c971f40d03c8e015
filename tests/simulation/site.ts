/**
 * What stands in a simulated world: engines, the network before them, and the
 * gateways in front.
 *
 * Invariant: it is made from a scenario and streams of chance alone, and does
 * nothing by itself.
 *
 * @module
 */
import type { Config } from "../../src/config/config.ts";
import type { Outside } from "../../src/core/outside.ts";
import type { Chance } from "./chance.ts";
import type { EventLog } from "./events.ts";
import { FakeEndpoint } from "./fake_endpoint.ts";
import type { Faults } from "./faults.ts";
import { Flow } from "./flow.ts";
import { configOf, GatewayGroup, type SimulatedGateway } from "./gateways.ts";
import { Network } from "./network.ts";
import { MODELS, type Scenario, WINDOW_BYTES } from "./scenario.ts";
import type { SimulatedClock } from "./virtual_clock.ts";

/** The port of the first engine; those of the others follow. */
export const FIRST_PORT = 9_000;

/** Changes what a gateway asks of the outside, and logs what it spoils. */
export type OutsideChange = (
  outside: Outside,
  world: {
    readonly log: EventLog;
    /** Whether things may go wrong now. */
    readonly isTroubled: () => boolean;
  },
) => Outside;

/** What a site is made of. */
export interface SiteParts {
  readonly scenario: Scenario;
  readonly chance: Chance;
  readonly clock: SimulatedClock;
  readonly log: EventLog;
  readonly faults: () => Faults;
  readonly isTroubled: () => boolean;
  readonly change: OutsideChange;
}

/** Engines and gateways. */
export class Site {
  readonly flow = new Flow();
  readonly endpoints: readonly FakeEndpoint[];
  readonly config: Config;
  /** Gateways by the tables that they share. */
  readonly groups: readonly GatewayGroup[];
  readonly gateways: readonly SimulatedGateway[];
  readonly #parts: SiteParts;

  constructor(parts: SiteParts) {
    this.#parts = parts;
    this.endpoints = this.#makeEndpoints();
    this.config = this.#makeConfig();
    this.groups = this.#makeGroups();
    this.gateways = this.groups.flatMap(({ gateways }) => gateways);
  }

  /** Connections that engines have not seen closed. */
  get openCount(): number {
    return this.endpoints.reduce((sum, { openCount }) => sum + openCount, 0);
  }

  /** Which tables a gateway uses. */
  tableOf(gateway: number): number {
    return this.#parts.scenario.areTablesShared ? 0 : gateway;
  }

  /** The models that an endpoint lists. */
  modelsOf(index: number): readonly string[] | undefined {
    if (!this.#parts.scenario.hasTwoModels) return undefined;
    return [MODELS[index % 2 === 0 ? 0 : 1]];
  }

  #makeEndpoints(): FakeEndpoint[] {
    const { chance, clock, faults, log, scenario } = this.#parts;
    const { flow } = this;
    return Array.from({ length: scenario.endpointCount }, (_, index) => {
      const id = `e${index}`;
      const own = chance.fork(id);
      const { framings } = scenario;
      return new FakeEndpoint({
        id,
        clock,
        chance: own,
        log,
        flow,
        framings,
        faults,
      });
    });
  }

  #makeGroups(): GatewayGroup[] {
    const { change, isTroubled, log, scenario } = this.#parts;
    const dial = this.#makeNetwork().dial;
    const outsides = Array.from(
      { length: scenario.gatewayCount },
      (_, gateway) =>
        change(this.#makeOutside(gateway, dial), { log, isTroubled }),
    );
    return scenario.areTablesShared
      ? [new GatewayGroup(this.config, outsides)]
      : outsides.map((outside) => new GatewayGroup(this.config, [outside]));
  }

  #makeNetwork(): Network {
    const { chance, clock } = this.#parts;
    const network = new Network({ clock, chance: chance.fork("network") });
    this.endpoints.forEach((endpoint, index) =>
      network.listen(FIRST_PORT + index, endpoint)
    );
    return network;
  }

  #makeOutside(gateway: number, dial: Outside["dial"]): Outside {
    const { chance, clock, log } = this.#parts;
    const own = chance.fork(`gateway ${gateway}`);
    return {
      clock,
      dial,
      random: () => own.unit(),
      log: (_level, event, fields) =>
        log.add({ kind: "log", gateway, event, text: JSON.stringify(fields) }),
    };
  }

  #makeConfig(): Config {
    const { scenario } = this.#parts;
    const { maxInFlight } = scenario;
    return configOf({
      endpoints: this.endpoints.map(({ id }, index) => ({
        url: `http://127.0.0.1:${FIRST_PORT + index}`,
        id,
        on_disconnect: scenario.onDisconnect,
        ...(maxInFlight === undefined ? {} : { max_in_flight: maxInFlight }),
      })),
      session: {
        keys: ["header:x-session-id", "body:session_id"],
        sniff_window: WINDOW_BYTES,
        capacity: scenario.capacity,
        idle_ttl: `${scenario.idleTtlMs}ms`,
      },
      // One failed probe ejects: those of a world come seldom.
      health: { unhealthy_threshold: 1 },
      limits: { requests: scenario.requestsMax },
      timeouts: { connect: "2s", first_byte: "10s", idle: "10s", body: "10s" },
    });
  }
}
