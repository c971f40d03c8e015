/**
 * What happened between two looks at a gateway, as rates.
 *
 * A status counts since the start, and what one wants to see is now.
 *
 * Invariant: where two looks cannot be compared there is no rate: at the first
 * one, after a restart, and for an endpoint that was not there before.
 *
 * @module
 */
import type { EndpointView, GatewayStatus } from "../../admin/status.ts";

/** What an endpoint did meanwhile; `undefined` for what cannot be told. */
export interface EndpointRates {
  readonly attemptsPerS: number | undefined;
  readonly failuresPerS: number | undefined;
  /** Mean time to the first byte, in milliseconds. */
  readonly firstByteMs: number | undefined;
  /** Share of attempts whose session was bound to it. */
  readonly hitShare: number | undefined;
}

/** What the gateway did meanwhile; `undefined` for what cannot be told. */
export interface GatewayRates {
  readonly receivedPerS: number | undefined;
  /** Requests that ended in an error of the gateway or of an engine. */
  readonly failedPerS: number | undefined;
  readonly bytesPerS: number | undefined;
  readonly firstByteMs: number | undefined;
  readonly hitShare: number | undefined;
}

/** Outcomes that are nobody's failure: an engine's answer below 500. */
const ANSWERED = /^[1-4]xx$/;

/** Rates of the gateway as a whole. */
export function gatewayRates(
  status: GatewayStatus,
  previous: GatewayStatus | undefined,
): GatewayRates {
  const now = status.traffic;
  const then = comparable(status, previous)?.traffic;
  const seconds = secondsBetween(status, previous);
  const bound = (one: typeof now) =>
    one.affinity.hit + one.affinity.moved + one.affinity.spilled;
  return {
    receivedPerS: rate(grown(now.received, then?.received), seconds),
    failedPerS: rate(grown(failed(now), then && failed(then)), seconds),
    bytesPerS: rate(grown(now.responseBytes, then?.responseBytes), seconds),
    firstByteMs: ratio(
      grown(now.firstByteMsSum, then?.firstByteMsSum),
      grown(now.firstByteCount, then?.firstByteCount),
    ),
    hitShare: ratio(
      grown(now.affinity.hit, then?.affinity.hit),
      grown(bound(now), then && bound(then)),
    ),
  };
}

/** Rates of one endpoint. */
export function endpointRates(
  endpoint: EndpointView,
  status: GatewayStatus,
  previous: GatewayStatus | undefined,
): EndpointRates {
  const then = comparable(status, previous)?.endpoints
    .find(({ id }) => id === endpoint.id);
  const seconds = secondsBetween(status, previous);
  const attempts = grown(endpoint.attempts, then?.attempts);
  return {
    attemptsPerS: rate(attempts, seconds),
    failuresPerS: rate(grown(endpoint.failures, then?.failures), seconds),
    firstByteMs: ratio(
      grown(endpoint.firstByteMsSum, then?.firstByteMsSum),
      grown(endpoint.firstByteCount, then?.firstByteCount),
    ),
    hitShare: ratio(grown(endpoint.hits, then?.hits), attempts),
  };
}

/** The former look, unless it was at another run of the gateway. */
function comparable(
  status: GatewayStatus,
  previous: GatewayStatus | undefined,
): GatewayStatus | undefined {
  return previous?.startedAtMs === status.startedAtMs ? previous : undefined;
}

function secondsBetween(
  status: GatewayStatus,
  previous: GatewayStatus | undefined,
): number | undefined {
  return previous && (status.nowMs - previous.nowMs) / 1_000;
}

function failed({ outcomes }: GatewayStatus["traffic"]): number {
  return Object.entries(outcomes)
    .filter(([outcome]) => !ANSWERED.test(outcome))
    .reduce((sum, [, count]) => sum + count, 0);
}

/** By how much a total grew; one that shrank is not the same total. */
function grown(now: number, then: number | undefined): number | undefined {
  if (then === undefined) return undefined;
  // An answer of another version may lack either: NaN is no growth.
  return now - then >= 0 ? now - then : undefined;
}

function rate(
  growth: number | undefined,
  seconds: number | undefined,
): number | undefined {
  return seconds !== undefined && seconds > 0
    ? ratio(growth, seconds)
    : undefined;
}

/** A quotient; of nothing to count there is none. */
function ratio(
  sum: number | undefined,
  count: number | undefined,
): number | undefined {
  return sum === undefined || !count ? undefined : sum / count;
}
