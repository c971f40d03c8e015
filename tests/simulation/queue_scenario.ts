/**
 * What kind of queue a seed makes, and the script of what befalls it.
 *
 * Invariant: when the script has ended, every endpoint is there and well, so
 * that all that waits must come to its end.
 *
 * @module
 */
import type { Arrival } from "../queue_world.ts";
import { Chance } from "./chance.ts";
import { QueueSite, TIMEOUT_MS } from "./queue_site.ts";

/** A queue to be. */
export interface QueueScenario {
  readonly workerCount: number;
  readonly endpoints: readonly {
    readonly id: string;
    readonly limit: number;
    readonly models: readonly string[];
  }[];
  /** Whether bells are never heard. */
  readonly isDeaf: boolean;
  readonly serviceMsMax: number;
  /** Calls that come in each millisecond, on average. */
  readonly arrivals: number;
  /** Probabilities in each millisecond; none where they are 0. */
  readonly leaving: number;
  readonly dying: number;
  readonly limits: number;
  readonly states: number;
  readonly lists: number;
}

/** Milliseconds of trouble, and those within which all must end afterwards. */
const TROUBLE_MS = 2_500;
const CALM_MS = TIMEOUT_MS + 1_000;

const MODEL_LISTS = [["m"], ["n"], ["m", "n"]] as const;

/** Lets the queue of a seed happen. */
export function runQueue(seed: number): QueueSite {
  const site = new QueueSite(seed, drawScenario(new Chance(seed)));
  const { scenario } = site;
  site.list(scenario.endpoints);
  for (let ms = 0; ms < TROUBLE_MS; ms++) {
    befall(site);
    if (site.chance.happens(scenario.arrivals)) arrive(site);
    site.step();
  }
  mend(site);
  for (let ms = 0; ms < CALM_MS; ms++) {
    site.step();
    if (site.queues.waiting.length + site.runningCount === 0) break;
  }
  // Places still on their way come to rest.
  for (let ms = 0; ms < 4 * 50; ms++) site.step();
  site.checkEnd();
  return site;
}

function drawScenario(chance: Chance): QueueScenario {
  const count = chance.between(1, 4);
  const maybe = (probability: number) => chance.oneIn(2) ? probability : 0;
  return {
    workerCount: chance.between(1, 4),
    endpoints: Array.from({ length: count }, (_, index) => ({
      id: `e${index}`,
      limit: chance.between(1, 4),
      models: chance.pick(MODEL_LISTS),
    })),
    isDeaf: chance.oneIn(4),
    serviceMsMax: chance.pick([10, 60, 250]),
    arrivals: chance.pick([0.02, 0.08, 0.25]),
    leaving: maybe(0.02),
    dying: maybe(0.002),
    limits: maybe(0.01),
    states: maybe(0.004),
    lists: maybe(0.002),
  };
}

function arrive(site: QueueSite): void {
  const { chance, queues, scenario } = site;
  const worker = site.worker();
  if (worker === undefined) return;
  const model = chance.pick(["m", "n", "any"]);
  const pool = queues.world.pools.poolFor(model === "any" ? undefined : model);
  if (pool === undefined) return;
  const bound = chance.oneIn(3) ? chance.pick(pool.ids) : undefined;
  const arrival: Arrival = {
    worker,
    level: chance.below(4),
    patienceMs: chance.pick([0, 100, 700]),
    boostMs: chance.pick([Infinity, 120, 600]),
    overdueMs: chance.pick([Infinity, 1_000]),
    timeoutMs: TIMEOUT_MS,
    ...(model === "any" ? {} : { model }),
    ...(bound === undefined ? {} : { bound }),
    ...(chance.oneIn(10) ? { tried: [scenario.endpoints[0]?.id ?? ""] } : {}),
  };
  const { tried } = arrival;
  const isKnown = tried === undefined ||
    queues.world.pools.whole.ids.includes(tried[0] ?? "");
  const { tried: _, ...untried } = arrival;
  const name = `c${site.calls.length}`;
  site.calls.push(queues.arrive(name, isKnown ? arrival : untried));
}

/** What happens to clients, workers and endpoints in a millisecond. */
function befall(site: QueueSite): void {
  const { chance, queues, scenario, sights } = site;
  const { endpoints, pools: { whole } } = queues.world;
  if (chance.happens(scenario.leaving) && queues.waiting.length > 0) {
    if (site.leave(chance.pick(queues.waiting))) sights.add("a client leaves");
  }
  const worker = site.worker();
  if (chance.happens(scenario.dying) && worker !== undefined) {
    site.kill(worker);
  }
  const slot = queues.world.slot(chance.pick(whole.ids));
  if (chance.happens(scenario.limits)) {
    const limit = chance.between(1, 5);
    const isLower = limit < endpoints.limit(slot);
    sights.add(isLower ? "a limit falls" : "a limit rises");
    endpoints.setLimit(slot, limit);
  }
  if (chance.happens(scenario.states)) {
    const state = chance.pick(["ready", "ejected", "draining"] as const);
    sights.add(`an endpoint is ${state}`);
    endpoints.setState(slot, state);
    if (chance.oneIn(4)) endpoints.setBusyUntil(slot, site.nowMs + 300);
  }
  if (chance.happens(scenario.lists)) {
    const kept = scenario.endpoints.filter(() => chance.oneIn(2));
    sights.add(kept.length === 0 ? "the list is kept" : "the list changes");
    if (kept.length > 0) {
      site.list(
        kept.map((it) => ({ ...it, models: chance.pick(MODEL_LISTS) })),
      );
    }
  }
}

/** Everything is there and well again. */
function mend(site: QueueSite): void {
  const { queues, scenario } = site;
  site.list(scenario.endpoints);
  const { endpoints } = queues.world;
  for (const { id } of scenario.endpoints) {
    endpoints.setBusyUntil(queues.world.slot(id), 0);
  }
}
