/**
 * A whole simulated world: gateways, engines, clients and what goes wrong
 * between them, from one seed.
 *
 * Invariant: a world is over when its events are returned; nothing of it runs
 * on, and its events depend on nothing but the seed and the options.
 *
 * @module
 */
import type { Outside } from "../../src/core/outside.ts";
import { Chance } from "./chance.ts";
import { SimulatedClient } from "./client.ts";
import { EventLog, type SimulationEvent } from "./events.ts";
import { NO_FAULTS } from "./faults.ts";
import { Misfortune, PROBE_MS } from "./misfortune.ts";
import { Observer } from "./observer.ts";
import { drawScenario, type Scenario } from "./scenario.ts";
import { type OutsideChange, Site } from "./site.ts";
import { SimulatedClock } from "./virtual_clock.ts";
import { drawRequest, drawSessions, type Session } from "./workload.ts";

/** Milliseconds during which turns begin and faults happen. */
const TROUBLE_MS = 15_000;

/**
 * Milliseconds within which everything settles afterwards: the longest limit
 * of silence, 10 s, at every one of two attempts, and slow readers.
 */
const LIVENESS_MS = 40_000;

/** Idle connections are closed after 5 s at the latest. */
const REST_MS = 8_000;

/** What a world may be given besides its seed. */
export interface WorldOptions {
  readonly seed: number;
  /** Changes to the scenario that the seed makes. */
  readonly scenario?: Partial<Scenario>;
  /** Changes what the gateways ask of the outside. */
  readonly outside?: OutsideChange;
}

/** Lets a world happen and returns its events. */
export async function runWorld(
  options: WorldOptions,
): Promise<readonly SimulationEvent[]> {
  const world = new World(options);
  await world.run();
  return world.log.events;
}

class World {
  readonly clock = new SimulatedClock();
  readonly log = new EventLog(this.clock);
  readonly #seed: number;
  readonly #chance: Chance;
  readonly #scenario: Scenario;
  readonly #site: Site;
  readonly #observer: Observer;
  readonly #misfortune: Misfortune;
  readonly #turnChance: Chance;
  #isTroubled = true;
  #playing = 0;
  #requests = 0;

  constructor({ seed, scenario, outside: change = same }: WorldOptions) {
    const { clock, log } = this;
    const chance = new Chance(seed);
    const drawn = drawScenario(chance.fork("scenario"));
    this.#seed = seed;
    this.#chance = chance;
    this.#scenario = { ...drawn, ...scenario };
    this.#turnChance = chance.fork("turns");
    const isTroubled = () => this.#isTroubled;
    const faults = () => isTroubled() ? this.#scenario.faults : NO_FAULTS;
    const site = new Site({
      scenario: this.#scenario,
      chance,
      clock,
      log,
      faults,
      isTroubled,
      change,
    });
    this.#site = site;
    this.#observer = new Observer({
      log,
      groups: site.groups,
      flow: site.flow,
      capacity: this.#scenario.capacity,
      requestsMax: this.#scenario.requestsMax,
    });
    this.#misfortune = new Misfortune({
      clock,
      log,
      chance: chance.fork("misfortune"),
      site,
      faults,
    });
  }

  async run(): Promise<void> {
    this.#describe();
    this.log.look = () => this.#observer.look();
    this.#misfortune.begin();
    for (const session of this.#sessions()) void this.#converse(session);
    await this.#pass(TROUBLE_MS);
    this.#isTroubled = false;
    this.#misfortune.end();
    this.log.add({ kind: "faults_over" });
    await this.#pass(LIVENESS_MS, () => this.#playing === 0);
    await this.#prove();
    await this.#pass(REST_MS);
    this.#observer.finish(this.#playing, this.#site.openCount);
    for (const gateway of this.#site.gateways) gateway.close();
    await this.#pass(REST_MS);
  }

  /** After all faults, every session is served, and again at the same place. */
  async #prove(): Promise<void> {
    await this.#pass(2 * PROBE_MS);
    const calm = { ...this.#scenario, vanishing: 0 };
    for (const _ of ["first", "second"]) {
      // One after the other, so that no limit is in the way.
      for (const session of this.#sessions()) {
        void this.#request(session, { turn: 1, isProof: true, scenario: calm });
        await this.#pass(LIVENESS_MS, () => this.#playing === 0);
      }
    }
  }

  async #converse(session: Session): Promise<void> {
    const endMs = this.clock.nowMs() + TROUBLE_MS;
    const chance = this.#chance.fork(session.name);
    await this.clock.sleep(session.startMs);
    for (let turn = 1; turn <= session.turnCount; turn++) {
      if (this.clock.nowMs() >= endMs) return;
      const { parallelTurns, thinkMsMax } = this.#scenario;
      const count = chance.happens(parallelTurns) ? 2 : 1;
      const call = { turn, isProof: false, scenario: this.#scenario };
      await Promise.all(
        Array.from({ length: count }, () => this.#request(session, call)),
      );
      await this.clock.sleep(chance.below(thinkMsMax));
    }
  }

  async #request(
    session: Session,
    { turn, isProof, scenario }: {
      readonly turn: number;
      readonly isProof: boolean;
      readonly scenario: Scenario;
    },
  ): Promise<void> {
    const gateway = this.#site.gateways[session.gateway];
    if (gateway === undefined) throw new Error("Cannot find the gateway");
    const id = `r${++this.#requests}`;
    const chance = this.#turnChance.fork(id);
    const plan = drawRequest(session, { id, turn, scenario, chance });
    const { clock, log } = this;
    const client = new SimulatedClient(plan, {
      clock,
      log,
      handle: gateway.handle,
    });
    this.log.add({
      kind: "begin",
      request: id,
      gateway: session.gateway,
      table: this.#site.tableOf(session.gateway),
      session: session.place === "none"
        ? undefined
        : this.#bindingScope(session, plan.method),
      method: plan.method,
      isProof,
      isKeyLate: plan.isKeyLate,
      bodyHash: plan.bodyHash,
    });
    this.#playing++;
    this.#observer.watch(id, client);
    try {
      await client.play();
    } catch (error) {
      this.log.add({ kind: "left", name: String(error), value: 1, wanted: 0 });
    }
    this.#observer.unwatch(id);
    this.#playing--;
  }

  /** Sessions are bound by pool; what has no body has no model. */
  #bindingScope(session: Session, method: string): string {
    const isWhole = this.#scenario.hasTwoModels && method === "GET";
    return `${session.name} ${isWhole ? "*" : session.model}`;
  }

  #pass(ms: number, isOver?: () => boolean): Promise<void> {
    return this.clock.run(this.clock.nowMs() + ms, {
      ...(isOver === undefined ? {} : { isOver }),
      afterStep: () => {
        if (this.#scenario.hearsBells) {
          for (const group of this.#site.groups) group.ring();
        }
        this.#observer.look();
      },
    });
  }

  #sessions(): Session[] {
    return drawSessions(this.#scenario, this.#chance.fork("sessions"));
  }

  #describe(): void {
    const { areTablesShared, faults, gatewayCount, hasTwoModels, idleTtlMs } =
      this.#scenario;
    this.log.add({
      kind: "world",
      seed: this.#seed,
      gateways: gatewayCount,
      areTablesShared,
      hasTwoModels,
      idleTtlMs,
      livenessMs: LIVENESS_MS,
      faults: Object.entries(faults).filter(([, p]) => p > 0)
        .map(([name]) => name).join(" "),
    });
  }
}

function same(outside: Outside): Outside {
  return outside;
}
