/**
 * What the gateway counts of its tunnels.
 *
 * Invariant: a tunnel is counted once as opened and once as closed, by what
 * closed it.
 *
 * @module
 */
import type {
  CounterFamily,
  CounterLayout,
} from "../../core/counting/counters.ts";

/** What closed a tunnel, in the order of the cells. */
const TUNNEL_CAUSES = [
  /** A side closed it as the protocol says. */
  "client",
  "endpoint",
  /** A side vanished. */
  "client_gone",
  "endpoint_gone",
  /** A side broke the protocol or sent a message over the limit. */
  "client_broken",
  "endpoint_broken",
  /** The endpoint took less than the client sent. */
  "endpoint_slow",
  "stopped",
  /** The worker died that held it. */
  "worker_died",
] as const;

/** What closed a tunnel. */
export type TunnelCause = typeof TUNNEL_CAUSES[number];

const DIRECTIONS = ["to_endpoint", "to_client"] as const;

/** Where messages go. */
export type TunnelDirection = typeof DIRECTIONS[number];

/** The families counted. */
export const TUNNEL_FAMILIES: readonly CounterFamily[] = [
  {
    name: "tryst_tunnels_opened_total",
    help: "WebSocket handshakes that an endpoint has accepted.",
    label: undefined,
    values: [""],
  },
  {
    name: "tryst_tunnels_closed_total",
    help: "WebSocket tunnels ended, by what closed them.",
    label: "cause",
    values: TUNNEL_CAUSES,
  },
  {
    name: "tryst_tunnel_messages_total",
    help: "Messages passed through WebSocket tunnels.",
    label: "direction",
    values: DIRECTIONS,
  },
  {
    name: "tryst_tunnel_bytes_total",
    help: "Payload bytes passed through WebSocket tunnels.",
    label: "direction",
    values: DIRECTIONS,
  },
];

/** One worker's view of these counters. */
export class TunnelTraffic {
  readonly #row: Float64Array;
  readonly #opened: number;
  readonly #closed: number;
  readonly #messages: number;
  readonly #bytes: number;

  constructor(layout: CounterLayout, row: Float64Array) {
    this.#row = row;
    this.#opened = layout.offset("tryst_tunnels_opened_total");
    this.#closed = layout.offset("tryst_tunnels_closed_total");
    this.#messages = layout.offset("tryst_tunnel_messages_total");
    this.#bytes = layout.offset("tryst_tunnel_bytes_total");
    this.#settleDead();
  }

  opened(): void {
    this.#add(this.#opened, 1);
  }

  closed(cause: TunnelCause): void {
    this.#add(this.#closed + TUNNEL_CAUSES.indexOf(cause), 1);
  }

  relayed(direction: TunnelDirection, byteCount: number): void {
    const index = DIRECTIONS.indexOf(direction);
    this.#add(this.#messages + index, 1);
    this.#add(this.#bytes + index, byteCount);
  }

  /** Whatever a worker of this row had open ended with it. */
  #settleDead(): void {
    let left = this.#row[this.#opened] ?? 0;
    for (let i = 0; i < TUNNEL_CAUSES.length; i++) {
      left -= this.#row[this.#closed + i] ?? 0;
    }
    const died = TUNNEL_CAUSES.indexOf("worker_died");
    this.#add(this.#closed + died, left);
  }

  #add(cell: number, amount: number): void {
    this.#row[cell] = (this.#row[cell] ?? 0) + amount;
  }
}
