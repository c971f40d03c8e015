/**
 * One run of the chaos: load and weather, twice, and a look at what is left.
 *
 * The first part warms the gateway up: what memory comes to then is what it
 * has to come back to.
 *
 * Invariant: every process, connection and timer of a run has ended when it
 * resolves or rejects.
 *
 * @module
 */
import { Chance, hashText } from "../simulation/chance.ts";
import { answerProblem } from "./answer_check.ts";
import { endsOnce, noDoubleWork } from "./checkers.ts";
import { runClient } from "./client.ts";
import { ChaosEngine } from "./engine.ts";
import { ChaosGateway } from "./gateway.ts";
import { Journal } from "./journal.ts";
import { drawRequest } from "./plans.ts";
import {
  memoryReturns,
  nothingHeld,
  type Quiet,
  sessionsStay,
} from "./quiet.ts";
import { Weather } from "./weather.ts";
import { Wire } from "./wire.ts";

const ENGINES = 4;

/**
 * The load. The warm-up is the denser one, so that heaps find their size
 * within it: they grow with the rate of what comes and goes, and later with
 * what is left behind.
 */
const LOADS = {
  warm: { clients: 64, thinkMsMax: 0 },
  main: { clients: 32, thinkMsMax: 60 },
} as const;

/** Workers, and milliseconds between two deaths of one. */
const WORKERS = 2;
const DEATH_GAP_MS = { min: 1_500, max: 4_000 };

/** Share of a run that warms up. */
const WARM_UP = 0.5;

/** Memory is judged in runs of this many seconds and more. */
const MEMORY_SECONDS_MIN = 30;

/**
 * Looks at the gateway until it is quiet: over the limits of its idle sockets
 * and of the answers that nobody waits for.
 */
const QUIET_LOOKS = 60;
const QUIET_PAUSE_MS = 200;

/** Requests that must all succeed once the weather is fine. */
const FAIR_REQUESTS = 64;

/** Below the ports that the kernel gives to clients, so that none takes one. */
const PORTS = { min: 20_000, max: 30_000 };

/** How a run is to be. */
export interface RunOptions {
  readonly seed: number;
  readonly seconds: number;
  /** A bug to plant in the gateway. */
  readonly canary?: string | undefined;
  /** Whether requests have to wait for places. */
  readonly isNarrow?: boolean;
  /** Whether workers die. */
  readonly hasDeaths?: boolean;
}

/** What a run came to. */
export interface RunResult {
  readonly problems: readonly string[];
  readonly journal: Journal;
  readonly weather: ReadonlyMap<string, number>;
  readonly residentBytes: { readonly before: number; readonly after: number };
  readonly sockets: Quiet["sockets"];
  /** Events of the gateway's log and how often each was logged. */
  readonly events: ReadonlyMap<string, number>;
}

/** Runs the chaos once. */
export async function runChaos(options: RunOptions): Promise<RunResult> {
  const { hasDeaths = false, isNarrow = false } = options;
  const chance = new Chance(options.seed);
  const journal = new Journal();
  const engines = freePorts(chance).map((port, n) =>
    new ChaosEngine({ port, seed: options.seed * ENGINES + n, journal })
  );
  await using stack = new AsyncDisposableStack();
  for (const engine of engines) {
    stack.use(engine);
    await engine.start();
  }
  const gateway = stack.use(
    await ChaosGateway.start(engines.map(({ port }) => port), {
      canary: options.canary,
      isNarrow,
      hasDeaths,
    }),
  );
  const weather = new Weather(engines, chance.fork("weather"));
  const world = { gateway, weather, journal, chance, hasDeaths };
  await storm(world, "warm", options.seconds * WARM_UP);
  const before = await untilQuiet(gateway);
  await storm(world, "main", options.seconds * (1 - WARM_UP));
  const problems = await fairWeather(world);
  const after = await untilQuiet(gateway);
  const { code, log } = await gateway.stop();
  if (code !== 0) problems.push(`the gateway ended with ${code}: want 0`);
  // An engine's account is complete once it has ended.
  for (const engine of engines) await engine.kill();
  problems.push(
    ...endsOnce(journal.clients),
    ...noDoubleWork(journal.clients, journal.engines),
    ...nothingHeld(after, hasDeaths ? "dying" : "living"),
    ...isNarrow ? sessionsStay(after.metrics) : [],
    ...hasDeaths || options.seconds < MEMORY_SECONDS_MIN
      ? []
      : memoryReturns(before.residentBytes, after.residentBytes),
  );
  return {
    problems,
    journal,
    weather: weather.counts,
    residentBytes: {
      before: before.residentBytes,
      after: after.residentBytes,
    },
    sockets: after.sockets,
    events: eventsIn(log),
  };
}

interface World {
  readonly gateway: ChaosGateway;
  readonly weather: Weather;
  readonly journal: Journal;
  readonly chance: Chance;
  readonly hasDeaths: boolean;
}

/** Load and weather for so long; all is well and over when it resolves. */
async function storm(
  world: World,
  name: keyof typeof LOADS,
  seconds: number,
): Promise<void> {
  const { gateway, weather, journal, chance } = world;
  let isOver = false;
  const { clients: count, thinkMsMax } = LOADS[name];
  const clients = Array.from({ length: count }, (_, n) =>
    runClient({
      port: gateway.port,
      name: `${name}-${n}`,
      chance: chance.fork(`client ${name} ${n}`),
      journal,
      thinkMsMax,
      isOver: () => isOver,
    }));
  const load = Promise.all(clients);
  const { promise: timeIsUp, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, seconds * 1_000);
  weather.begin();
  const deaths = world.hasDeaths ? new Deaths(gateway, chance) : undefined;
  try {
    await Promise.race([load, timeIsUp]);
    isOver = true;
    deaths?.end();
    // First, as an engine that dies would free who waits for an answer.
    await weather.clear();
    await load;
  } finally {
    clearTimeout(timer);
    isOver = true;
    deaths?.end();
    await weather.clear();
    // One that has failed must not leave the others at work.
    await Promise.allSettled(clients);
  }
}

/** Workers die, one after another. */
class Deaths {
  readonly #gateway: ChaosGateway;
  readonly #chance: Chance;
  #timer: ReturnType<typeof setTimeout>;

  constructor(gateway: ChaosGateway, chance: Chance) {
    this.#gateway = gateway;
    this.#chance = chance.fork("deaths");
    this.#timer = this.#plan();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #plan(): ReturnType<typeof setTimeout> {
    const { max, min } = DEATH_GAP_MS;
    return setTimeout(() => {
      // The process may be on its way out; its end is looked at elsewhere.
      this.#gateway.crash(this.#chance.below(WORKERS)).catch(() => {});
      this.#timer = this.#plan();
    }, this.#chance.between(min, max));
  }
}

/** Everything succeeds again once nothing is wrong. */
async function fairWeather(world: World): Promise<string[]> {
  const { gateway, journal, chance } = world;
  await gateway.untilReady();
  const problems: string[] = [];
  for (let n = 0; n < FAIR_REQUESTS; n++) {
    const request = drawRequest("post", `fair-${n}`, chance.fork(`fair ${n}`));
    using wire = await Wire.connect(gateway.port);
    await wire.send(request.head + request.body);
    const { reply } = await wire.answer();
    const isFine = reply?.isWhole === true && reply.status === 200 &&
      answerProblem(request, reply) === undefined;
    if (!isFine) problems.push(`${request.id} failed with no engine ill`);
    journal.clients.push({
      id: request.id,
      method: request.method,
      plan: "fair",
      bodyHash: hashText(request.body),
      end: isFine
        ? { kind: "whole", status: 200, by: "engine" }
        : { kind: "broken", where: "head" },
    });
  }
  return problems;
}

/** Looks until nothing is held, or for long enough to say that it is. */
async function untilQuiet(gateway: ChaosGateway): Promise<Quiet> {
  for (let look = 1;; look++) {
    const quiet = {
      metrics: await gateway.metrics(),
      sockets: gateway.sockets(),
      residentBytes: gateway.residentBytes(),
    };
    const isQuiet = nothingHeld(quiet, "dying").length === 0;
    if (isQuiet || look === QUIET_LOOKS) return quiet;
    await new Promise((resolve) => setTimeout(resolve, QUIET_PAUSE_MS));
  }
}

/** Ports on loopback that nobody has. */
function freePorts(chance: Chance): number[] {
  const ports: number[] = [];
  while (ports.length < ENGINES) {
    const port = chance.between(PORTS.min, PORTS.max);
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      if (!ports.includes(port)) ports.push(port);
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  return ports;
}

/** Names of events in lines of the log, counted. */
function eventsIn(log: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [, event = ""] of log.matchAll(/^\S+ +\w+ +(\w+\.\w+)/gm)) {
    counts.set(event, (counts.get(event) ?? 0) + 1);
  }
  return counts;
}
