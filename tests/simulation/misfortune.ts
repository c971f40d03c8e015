/**
 * What goes wrong with endpoints as a whole, and what probes see of it.
 *
 * Once a second it is drawn which endpoints crash, seem unreachable, are
 * drained or disappear from the list, and whether time jumps. Probes tell the
 * gateways; what is wrong lasts for a while and is mended by itself.
 *
 * Invariant: when it is told to end, every endpoint is up, listed, not drained
 * and, one round of probes later, ready.
 *
 * @module
 */
import type { Chance } from "./chance.ts";
import type { EventLog } from "./events.ts";
import type { FaultName, Faults } from "./faults.ts";
import type { Site } from "./site.ts";
import type { SimulatedClock } from "./virtual_clock.ts";

/** Milliseconds between two draws. */
const DRAW_MS = 1_000;

/** Milliseconds between two rounds of probes. */
export const PROBE_MS = 500;

/** Milliseconds between two looks at what traffic has shown. */
const TICK_MS = 250;

/** Milliseconds for which something is wrong. */
const LASTS_MS = { min: 200, max: 4_000 };

/** Milliseconds by which time jumps: some seconds, or longer than any limit. */
const JUMPS_MS = [3_000, 30_000] as const;

/** What misfortune works on. */
export interface MisfortuneParts {
  readonly clock: SimulatedClock;
  readonly log: EventLog;
  readonly chance: Chance;
  readonly site: Site;
  readonly faults: () => Faults;
}

/** Makes things go wrong. */
export class Misfortune {
  readonly #parts: MisfortuneParts;
  /** Endpoints that probes cannot reach although they are up. */
  readonly #unseen = new Set<string>();
  #isOver = false;

  constructor(parts: MisfortuneParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#probe();
    void this.#repeat(TICK_MS, () => this.#tick());
    void this.#repeat(PROBE_MS, () => this.#probe());
    void this.#repeat(DRAW_MS, () => this.#draw());
  }

  end(): void {
    this.#isOver = true;
    this.#unseen.clear();
    const { config, endpoints, groups } = this.#parts.site;
    for (const group of groups) group.list(config.endpoints);
    for (const endpoint of endpoints) {
      endpoint.isDown = false;
      for (const group of groups) group.drain(endpoint.id, false);
    }
    this.#probe();
  }

  /** Goes on for as long as somebody lets time pass. */
  async #repeat(everyMs: number, act: () => void): Promise<void> {
    for (;;) {
      await this.#parts.clock.sleep(everyMs);
      act();
    }
  }

  #tick(): void {
    for (const group of this.#parts.site.groups) group.tick();
  }

  #probe(): void {
    const { site } = this.#parts;
    const { endpoints, groups } = site;
    for (const group of groups) {
      endpoints.forEach(({ id, isDown }, index) =>
        group.report(id, {
          isReached: !isDown && !this.#unseen.has(id),
          models: site.modelsOf(index),
        })
      );
    }
  }

  #draw(): void {
    const { chance, clock, log, site } = this.#parts;
    const { config, endpoints, groups } = site;
    if (this.#isOver) return;
    for (const endpoint of endpoints) {
      const { id } = endpoint;
      if (this.#strikes("crash", id)) {
        endpoint.crash();
        this.#mend(() => endpoint.isDown = false);
      }
      if (this.#strikes("flap", id)) {
        this.#unseen.add(id);
        this.#mend(() => this.#unseen.delete(id));
      }
      if (this.#strikes("drain", id)) {
        for (const group of groups) group.drain(id, true);
        this.#mend(() => groups.forEach((group) => group.drain(id, false)));
      }
    }
    if (this.#strikes("shrink", undefined)) {
      const left = config.endpoints.filter(() => chance.oneIn(2));
      for (const group of groups) group.list(left);
      this.#mend(() => groups.forEach((group) => group.list(config.endpoints)));
    }
    if (this.#strikes("jump", undefined)) clock.jump(chance.pick(JUMPS_MS));
    log.look();
  }

  #strikes(name: FaultName, endpoint: string | undefined): boolean {
    const { chance, faults, log } = this.#parts;
    if (!chance.happens(faults()[name])) return false;
    log.add({ kind: "fault", name, endpoint, request: undefined });
    return true;
  }

  /** Mends after a while, unless the end has mended everything. */
  #mend(mend: () => void): void {
    const { chance, clock } = this.#parts;
    clock.after(chance.between(LASTS_MS.min, LASTS_MS.max), () => {
      if (!this.#isOver) mend();
    });
  }
}
