/**
 * What befalls engines: one misfortune after another, drawn from a seed.
 *
 * Invariant: one engine at least is well at any time, so that the load goes
 * on; and when `clear()` resolves all are well.
 *
 * @module
 */
import type { Chance } from "../simulation/chance.ts";
import type { ChaosEngine } from "./engine.ts";
import { type Fault, type Mode, MODES } from "./faults.ts";

/** Milliseconds between two misfortunes, and how long one lasts. */
const GAP_MS = { min: 50, max: 500 };
const LASTS_MS = { min: 200, max: 2_000 };

/** Shares of requests that are hit. */
const SHARES: readonly number[] = [0.2, 0.6, 1];

/** Of so many misfortunes one is a kill and one a freeze; the rest are modes. */
const DRAWS = 6;

const AILMENTS: readonly Mode[] = MODES.filter((mode) => mode !== "well");

/** Misfortune on its way through the engines. */
export class Weather {
  /** How often each misfortune has struck. */
  readonly counts = new Map<string, number>();
  readonly #engines: readonly ChaosEngine[];
  readonly #chance: Chance;
  readonly #under = new Set<Promise<void>>();
  #isOver = false;
  #going: Promise<void> = Promise.resolve();

  constructor(engines: readonly ChaosEngine[], chance: Chance) {
    this.#engines = engines;
    this.#chance = chance;
  }

  /** Lets misfortunes strike until `clear()`. */
  begin(): void {
    this.#isOver = false;
    this.#going = this.#go();
  }

  /** Resolves once every engine is well again. */
  async clear(): Promise<void> {
    this.#isOver = true;
    await this.#going;
    await Promise.all(this.#under);
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      const well = this.#engines.filter((engine) => engine.isWell);
      if (well.length > 1) {
        const struck = this.#strike(this.#chance.pick(well));
        this.#under.add(struck);
        // One that fails stays, for `clear()` to tell.
        struck.then(() => this.#under.delete(struck), () => {});
      }
      await pause(this.#chance.between(GAP_MS.min, GAP_MS.max));
    }
  }

  async #strike(engine: ChaosEngine): Promise<void> {
    const lastsMs = this.#chance.between(LASTS_MS.min, LASTS_MS.max);
    const draw = this.#chance.below(DRAWS);
    if (draw === 0) {
      this.#count("kill");
      await engine.kill();
      await pause(lastsMs);
      return await engine.start();
    }
    if (draw === 1) {
      this.#count("freeze");
      engine.freeze();
      await pause(lastsMs);
      return engine.thaw();
    }
    const fault: Fault = {
      mode: this.#chance.pick(AILMENTS),
      share: this.#chance.pick(SHARES),
    };
    this.#count(fault.mode);
    await engine.ail(fault);
    await pause(lastsMs);
    await engine.heal();
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
