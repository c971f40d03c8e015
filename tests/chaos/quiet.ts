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

/** What a gateway looks like when it has nothing to do. */
export interface Quiet {
  readonly metrics: Metrics;
  readonly sockets: { readonly engines: number; readonly clients: number };
  readonly residentBytes: number;
}

/** Nothing is held when there is nothing to do. */
export function nothingHeld(quiet: Quiet): string[] {
  const { metrics, sockets } = quiet;
  const value = (name: string) => metrics.get(name) ?? 0;
  const problems: string[] = [];
  for (const name of ["tryst_endpoint_in_flight", "tryst_tunnels"]) {
    if (value(name) !== 0) problems.push(`${name} is ${value(name)}: want 0`);
  }
  const received = value("tryst_requests_received_total");
  const ended = value("tryst_requests_total");
  if (received !== ended) {
    problems.push(`${received} requests were received and ${ended} ended`);
  }
  const deaths = value("tryst_worker_deaths_total");
  if (deaths !== 0) problems.push(`${deaths} workers have died`);
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

/** Memory is what it was after the warm-up, give or take. */
export function memoryReturns(
  beforeBytes: number,
  afterBytes: number,
): string[] {
  if (afterBytes <= beforeBytes * (1 + GROWTH_MAX)) return [];
  const percent = (100 * (afterBytes / beforeBytes - 1)).toFixed(1);
  return [`memory has grown by ${percent} %: at most ${100 * GROWTH_MAX} %`];
}
