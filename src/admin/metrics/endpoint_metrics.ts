/**
 * The metrics of endpoints: what they are doing, and what has gone to them.
 *
 * Invariant: as in `metrics.ts`, an endpoint that is gone has no series.
 *
 * @module
 */
import type { Registry } from "prom-client";
import { ENDPOINT_STATES, type EndpointState } from "../../core/endpoint.ts";
import type { EndpointTotals } from "../../core/endpoints/endpoint_traffic.ts";
import {
  CAPACITY_FAMILIES,
  type EndpointCapacity,
} from "./capacity_metrics.ts";
import { type EndpointEngine, ENGINE_FAMILIES } from "./engine_metrics.ts";
import { type EndpointHealth, HEALTH_FAMILIES } from "./health_metrics.ts";
import { registerRead } from "./read_metrics.ts";

const MS_PER_S = 1_000;

/** An endpoint as it is now. */
export interface EndpointStatus
  extends EndpointHealth, EndpointCapacity, EndpointEngine {
  readonly state: EndpointState;
  /** When it entered that state, in milliseconds since the Unix epoch. */
  readonly sinceMs: number;
  readonly inFlight: number;
  /** Live sessions bound to it. */
  readonly sessions: number;
  readonly totals: EndpointTotals;
}

/** A family of endpoints: its label `endpoint` comes by itself. */
export interface EndpointFamily<Status> {
  readonly kind: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  /** Labels besides `endpoint`. */
  readonly labels?: readonly string[];
  /** The value, `undefined` for none, or one for each set of labels. */
  readonly read: (status: Status) =>
    | number
    | undefined
    | Iterable<
      readonly [labels: Readonly<Record<string, string>>, value: number]
    >;
}

const FAMILIES: readonly EndpointFamily<EndpointStatus>[] = [
  {
    kind: "gauge",
    name: "tryst_endpoint_in_flight",
    help: "Requests in flight on an endpoint.",
    read: ({ inFlight }) => inFlight,
  },
  {
    kind: "gauge",
    name: "tryst_endpoint_state",
    help: "1 for the state an endpoint is in, 0 for the others.",
    labels: ["state"],
    read: (status) =>
      ENDPOINT_STATES.map((state) => [
        { state },
        Number(status.state === state),
      ]),
  },
  {
    kind: "gauge",
    name: "tryst_endpoint_sessions",
    help: "Live sessions bound to an endpoint, as counted at most 8 s before.",
    read: ({ sessions }) => sessions,
  },
  {
    kind: "counter",
    name: "tryst_endpoint_attempts_total",
    help: "Upstream requests started to an endpoint.",
    read: ({ totals }) => totals.attempts,
  },
  {
    kind: "counter",
    name: "tryst_endpoint_attempt_failures_total",
    help: "Attempts, or relays of their answers, that failed by an " +
      "endpoint's fault.",
    read: ({ totals }) => totals.failures,
  },
  {
    kind: "counter",
    name: "tryst_endpoint_hits_total",
    help: "Attempts of sessions that were bound to an endpoint.",
    read: ({ totals }) => totals.hits,
  },
  {
    kind: "counter",
    name: "tryst_endpoint_first_bytes_total",
    help: "Answers of an endpoint whose first byte has come.",
    read: ({ totals }) => totals.firstByteCount,
  },
  {
    kind: "counter",
    name: "tryst_endpoint_first_byte_seconds_total",
    help: "Time from the start of each of these attempts to that byte.",
    read: ({ totals }) => totals.firstByteMsSum / MS_PER_S,
  },
  {
    kind: "counter",
    name: "tryst_endpoint_response_bytes_total",
    help: "Bytes of response bodies that came from an endpoint.",
    read: ({ totals }) => totals.responseBytes,
  },
  ...HEALTH_FAMILIES,
  ...CAPACITY_FAMILIES,
  ...ENGINE_FAMILIES,
];

/**
 * Puts the families of endpoints on the page.
 *
 * The first family of a page reads the endpoints, and the others show that
 * same reading: so a page is of one moment, and costs one look at each.
 */
export function registerEndpoints(
  endpoints: () => readonly EndpointStatus[],
  registers: Registry[],
): void {
  let seen: readonly EndpointStatus[] = [];
  const families = FAMILIES.map((family, index) => ({
    ...family,
    labels: ["endpoint", ...family.labels ?? []],
    read: () => {
      if (index === 0) seen = endpoints();
      return seen.flatMap((status) => readingsOf(family, status));
    },
  }));
  registerRead(families, registers);
}

function readingsOf(
  { read }: EndpointFamily<EndpointStatus>,
  status: EndpointStatus,
): (readonly [Record<string, string>, number])[] {
  const endpoint = status.id;
  const value = read(status);
  if (value === undefined) return [];
  if (typeof value === "number") return [[{ endpoint }, value]];
  return Array.from(
    value,
    ([labels, one]) => [{ endpoint, ...labels }, one] as const,
  );
}
