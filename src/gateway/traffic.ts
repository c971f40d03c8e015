/**
 * What the gateway counts of its traffic.
 *
 * Invariant: a request is counted once as received and once by its outcome,
 * whichever way it ends.
 *
 * @module
 */
import {
  type CounterFamily,
  CounterLayout,
} from "../core/counting/counters.ts";
import { ERROR_TABLE, type ErrorCode } from "../core/error.ts";
import type { EndpointTally } from "../core/endpoints/endpoint_traffic.ts";
import type { AffinityOutcome, Placed } from "../core/placement/placement.ts";
import { PhaseTimes, TIME_FAMILIES } from "./phase_times.ts";
import { TUNNEL_FAMILIES, TunnelTraffic } from "./tunnels/tunnel_traffic.ts";

/** Affinity outcomes in the order of their cells. */
const AFFINITY_OUTCOMES = [
  "none",
  "new",
  "hit",
  "moved",
  "spilled",
] as const satisfies readonly AffinityOutcome[];

/** Status classes an engine's own answer is counted under. */
const STATUS_CLASSES = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/**
 * The families counted and measured, given the names of the configured sources.
 *
 * Outcomes are the status class of an engine's answer that reached the client
 * whole, or the gateway's error code. Sources that are configured later are
 * counted as `other`: cells cannot be added while threads count.
 */
export function trafficLayout(sourceNames: readonly string[]): CounterLayout {
  const single = [""];
  const families: CounterFamily[] = [
    {
      name: "tryst_requests_received_total",
      help: "Requests whose head has been read.",
      label: undefined,
      values: single,
    },
    {
      name: "tryst_requests_total",
      help: "Requests ended, by status class of the engine's answer or by " +
        "the gateway's error code.",
      label: "outcome",
      values: [...STATUS_CLASSES, ...Object.keys(ERROR_TABLE)],
    },
    {
      name: "tryst_affinity_total",
      help: "Placements on an endpoint, one an attempt, by affinity outcome.",
      label: "outcome",
      values: AFFINITY_OUTCOMES,
    },
    {
      name: "tryst_session_key_source_total",
      help: "Requests by the source of their session key.",
      label: "source",
      values: ["none", ...sourceNames, "other"],
    },
    {
      name: "tryst_scanner_gave_up_total",
      help: "Request bodies the scanner could not read.",
      label: undefined,
      values: single,
    },
    {
      name: "tryst_sniff_window_full_total",
      help: "Request bodies whose key was not found within the sniff window.",
      label: undefined,
      values: single,
    },
    {
      name: "tryst_attempts_total",
      help: "Upstream requests started.",
      label: undefined,
      values: single,
    },
    {
      name: "tryst_response_bytes_total",
      help: "Bytes of response bodies handed to clients.",
      label: undefined,
      values: single,
    },
    ...TUNNEL_FAMILIES,
  ];
  return new CounterLayout(families, TIME_FAMILIES);
}

/** One worker's view of the counters, by cell and by endpoint. */
export class Traffic {
  readonly tunnels: TunnelTraffic;
  readonly times: PhaseTimes;
  readonly #row: Float64Array;
  readonly #outcome: number;
  readonly #affinity: number;
  /** Cells of the sources by their index in the plan, `none` in front. */
  readonly #sources: readonly number[];
  readonly #received: number;
  readonly #gaveUp: number;
  readonly #windowFull: number;
  readonly #attempts: number;
  readonly #bytes: number;
  readonly #layout: CounterLayout;
  readonly #endpoints: EndpointTally;

  /**
   * @param row The worker's own, as is `endpoints`.
   * @param sourceNames Of the plan that `keyed` speaks of.
   */
  constructor(
    layout: CounterLayout,
    { row, endpoints, sourceNames }: {
      readonly row: Float64Array;
      readonly endpoints: EndpointTally;
      readonly sourceNames: readonly string[];
    },
  ) {
    this.#layout = layout;
    this.#row = row;
    this.#endpoints = endpoints;
    this.tunnels = new TunnelTraffic(layout, row);
    this.times = new PhaseTimes(layout, row);
    this.#outcome = layout.offset("tryst_requests_total");
    this.#affinity = layout.offset("tryst_affinity_total");
    this.#sources = ["none", ...sourceNames].map((name) =>
      layout.cell("tryst_session_key_source_total", name)
    );
    this.#received = layout.offset("tryst_requests_received_total");
    this.#gaveUp = layout.offset("tryst_scanner_gave_up_total");
    this.#windowFull = layout.offset("tryst_sniff_window_full_total");
    this.#attempts = layout.offset("tryst_attempts_total");
    this.#bytes = layout.offset("tryst_response_bytes_total");
  }

  received(): void {
    this.#add(this.#received, 1);
  }

  /** `sourceIndex` as configured, or -1 for no key. */
  keyed(sourceIndex: number): void {
    this.#add(this.#sources[sourceIndex + 1] ?? 0, 1);
  }

  scannerGaveUp(): void {
    this.#add(this.#gaveUp, 1);
  }

  sniffWindowFull(): void {
    this.#add(this.#windowFull, 1);
  }

  attempted({ outcome, slot }: Placed): void {
    this.#add(this.#affinity + AFFINITY_OUTCOMES.indexOf(outcome), 1);
    this.#add(this.#attempts, 1);
    this.#endpoints.attempted(slot, outcome === "hit");
  }

  /** An attempt, or its relay, has failed by the endpoint's fault. */
  endpointFailed({ slot }: Placed): void {
    this.#endpoints.failed(slot);
  }

  /** The first byte of an answer has come, to a request that came then. */
  firstByte(placed: Placed, acceptedAtMs: number, nowMs: number): void {
    this.times.firstByte(nowMs - acceptedAtMs);
    // The endpoint cannot help how long the request waited for it.
    this.#endpoints.firstByte(placed.slot, nowMs - placed.placedAtMs);
  }

  relayed({ slot }: Placed, byteCount: number): void {
    this.#add(this.#bytes, byteCount);
    this.#endpoints.relayed(slot, byteCount);
  }

  /** An engine's answer has reached the client whole. */
  answered(status: number): void {
    this.#add(this.#outcome + Math.floor(status / 100) - 1, 1);
  }

  failed(code: ErrorCode): void {
    this.#add(this.#layout.cell("tryst_requests_total", code), 1);
  }

  #add(cell: number, amount: number): void {
    this.#row[cell] = (this.#row[cell] ?? 0) + amount;
  }
}
