/**
 * The metrics of how much endpoints take: their limits, and how those that
 * are learned came about.
 *
 * Invariant: an endpoint without a limit has no series of one, and one whose
 * limit is not learned has none of learning.
 *
 * @module
 */
import {
  CAPACITY_CHANGES,
  type CapacityCause,
} from "../../core/endpoints/capacity.ts";
import type { EndpointFamily } from "./endpoint_metrics.ts";

const MS_PER_S = 1_000;

/** What is known of an endpoint's capacity. */
export interface EndpointCapacity {
  /** Most requests in flight at once now; `undefined` for no limit. */
  readonly limit: number | undefined;
  /** How that limit was learned; `undefined` when it is not. */
  readonly capacity:
    | {
      /** How often each cause decided. */
      readonly counts: ReadonlyMap<CapacityCause, number>;
      /**
       * Times to first byte by the size in bytes that requests are below:
       * `Infinity` for the largest, `NaN` for those of unknown size.
       */
      readonly baselinesMs?: ReadonlyMap<number, number>;
    }
    | undefined;
}

/** The families of capacity. */
export const CAPACITY_FAMILIES: readonly EndpointFamily<EndpointCapacity>[] = [
  {
    kind: "gauge",
    name: "tryst_endpoint_limit",
    help: "Most requests in flight at once on an endpoint, configured or " +
      "learned.",
    read: ({ limit }) => limit,
  },
  {
    kind: "gauge",
    name: "tryst_endpoint_limit_learned",
    help: "1 when that limit is learned, 0 when it is configured.",
    read: ({ capacity, limit }) =>
      limit === undefined ? undefined : Number(capacity !== undefined),
  },
  {
    kind: "gauge",
    name: "tryst_endpoint_baseline_seconds",
    help: "Time to the first byte of an endpoint at ease, as learned, by " +
      "the size that requests are below.",
    labels: ["below_bytes"],
    read: ({ capacity }) =>
      Array.from(
        capacity?.baselinesMs ?? [],
        ([belowBytes, ms]) =>
          [{ below_bytes: sizeText(belowBytes) }, ms / MS_PER_S] as const,
      ),
  },
  {
    kind: "counter",
    name: "tryst_endpoint_limit_decisions_total",
    help: "Decisions on a learned limit, by what they did and why.",
    labels: ["change", "cause"],
    read: ({ capacity }) =>
      Array.from(
        capacity?.counts ?? [],
        ([cause, count]) =>
          [{ change: CAPACITY_CHANGES[cause], cause }, count] as const,
      ),
  },
];

/** Bounds are those of the rule, a closed list. */
function sizeText(belowBytes: number): string {
  if (Number.isNaN(belowBytes)) return "unknown";
  return belowBytes === Infinity ? "+Inf" : String(belowBytes);
}
