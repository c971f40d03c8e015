/**
 * What has to be true of a gateway that has nothing to do.
 *
 * Invariant: as in `checkers.ts`, a checker is a function of what was seen and
 * returns what is wrong.
 *
 * @module
 */
import type { Metrics } from "./gateway.ts";

/** Growth of resident memory, in relation to that after the warm-up. */
const GROWTH_MAX = 0.1;

/** Sockets to engines when all is quiet: one probe an engine. */
const SOCKETS_MAX = 4;

/** Gauges that are 0 when there is nothing to do. */
const NOTHING = [
  "tryst_endpoint_in_flight",
  "tryst_tunnels",
  "tryst_queue_waiting",
  "tryst_requests_in_flight",
];

/** Share of the turns of bound sessions that their endpoints must serve. */
const HITS_MIN = 0.4;

/** What a gateway looks like when it has nothing to do. */
export interface Quiet {
  readonly metrics: Metrics;
  readonly sockets: { readonly engines: number; readonly clients: number };
  readonly residentBytes: number;
}

/**
 * Nothing is held when there is nothing to do.
 *
 * @param workers Whether they are made to die; requests of dead ones end
 * uncounted.
 */
export function nothingHeld(
  quiet: Quiet,
  workers: "living" | "dying" = "living",
): string[] {
  const { metrics, sockets } = quiet;
  const value = (name: string) => metrics.get(name) ?? 0;
  const problems: string[] = [];
  for (const name of NOTHING) {
    if (value(name) !== 0) problems.push(`${name} is ${value(name)}: want 0`);
  }
  const received = value("tryst_requests_received_total");
  const ended = value("tryst_requests_total");
  const isCounted = workers === "living"
    ? received === ended
    : received >= ended;
  if (!isCounted) {
    problems.push(`${received} requests were received and ${ended} ended`);
  }
  const deaths = value("tryst_worker_deaths_total");
  if (deaths !== 0 && workers === "living") {
    problems.push(`${deaths} workers have died`);
  }
  if (sockets.engines > SOCKETS_MAX) {
    problems.push(
      `${sockets.engines} sockets to engines are left: at most ${SOCKETS_MAX}`,
    );
  }
  if (sockets.clients > 0) {
    problems.push(`${sockets.clients} sockets to clients are left: want 0`);
  }
  return problems;
}

/** Sessions are served where they are bound, mostly, whatever happens. */
export function sessionsStay(metrics: Metrics): string[] {
  const count = (outcome: string) =>
    metrics.get(`tryst_affinity_total{outcome="${outcome}"}`) ?? 0;
  const hits = count("hit");
  const share = hits / Math.max(1, hits + count("moved") + count("spilled"));
  return share >= HITS_MIN ? [] : [
    `${(100 * share).toFixed(1)} % of turns hit: at least ${100 * HITS_MIN} %`,
  ];
}

/** Memory is what it was after the warm-up, give or take. */
export function memoryReturns(
  beforeBytes: number,
  afterBytes: number,
): string[] {
  if (afterBytes <= beforeBytes * (1 + GROWTH_MAX)) return [];
  const percent = (100 * (afterBytes / beforeBytes - 1)).toFixed(1);
  return [`memory has grown by ${percent} %: at most ${100 * GROWTH_MAX} %`];
}
