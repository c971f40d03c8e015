/**
 * A configuration as text, for people who want to see what is in effect.
 *
 * Invariant: every key is shown under its name in the file, in the spelling
 * that the file takes; nothing in a configuration is secret.
 *
 * @module
 */
import type { Config, ListenAddress } from "../config/config.ts";
import { sizeText } from "../config/quantity.ts";
import type { EndpointSpec } from "../core/endpoint.ts";

/** Units of durations, largest first, in milliseconds. */
const DURATION_UNITS: readonly (readonly [string, number])[] = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** One line a key, then one line an endpoint and a session-key source. */
export function summaryLines(config: Config): string[] {
  const { session, routing, timeouts } = config;
  const rows: [key: string, value: string | number][] = [
    ["listen", addressText(config.listen)],
    ["workers", config.workers],
    ["admin.listen", addressText(config.admin.listen)],
    ["session.sniff_window", sizeText(session.sniffWindowBytes)],
    ["session.capacity", session.capacity],
    ["session.idle_ttl", durationText(session.idleTtlMs)],
    ["session.fallback", session.fallback],
    ["routing.policy", routing.policy],
    ["routing.imbalance", routing.imbalance],
    ["limits.body", sizeText(config.limits.bodyBytes)],
    ["timeouts.connect", durationText(timeouts.connectMs)],
    ["timeouts.first_byte", durationText(timeouts.firstByteMs)],
    ["timeouts.idle", durationText(timeouts.idleMs)],
    ["endpoints", config.endpoints.length],
  ];
  const width = Math.max(...rows.map(([key]) => key.length));
  return [
    ...rows.map(([key, value]) => `${key.padEnd(width)}  ${value}`),
    ...config.endpoints.map((spec) => `  ${endpointText(spec)}`),
    `${"session.keys".padEnd(width)}  ${session.keys.length}`,
    ...session.keys.map((source) => `  ${source}`),
  ];
}

function addressText({ hostname, port }: ListenAddress): string {
  return hostname.includes(":")
    ? `[${hostname}]:${port}`
    : `${hostname}:${port}`;
}

function endpointText({ id, weight, maxInFlight }: EndpointSpec): string {
  return `${id} weight ${weight}, max_in_flight ${maxInFlight ?? "none"}`;
}

function durationText(ms: number | undefined): string {
  if (ms === undefined) return "none";
  for (const [unit, unitMs] of DURATION_UNITS) {
    if (ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}
