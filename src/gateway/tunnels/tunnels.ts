/**
 * All open tunnels of one gateway.
 *
 * Invariant: a tunnel is in here from the engine's acceptance until it has
 * ended; there are never more than requests are admitted.
 *
 * @module
 */
import type { Clock, Socket } from "../../core/outside.ts";
import { Tunnel, type TunnelParts } from "./tunnel.ts";
import type { TunnelTraffic } from "./tunnel_traffic.ts";

/** What tunnels share. */
export interface TunnelsParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly traffic: TunnelTraffic;
}

/** Opens tunnels and ends those that are left. */
export class Tunnels {
  readonly #parts: TunnelsParts;
  readonly #open = new Set<Tunnel>();
  #isStopping = false;

  constructor(parts: TunnelsParts) {
    this.#parts = parts;
  }

  /** A tunnel over the socket that an engine has upgraded. */
  open(
    socket: Socket,
    options: Pick<TunnelParts, "protocol" | "onEnd">,
  ): Tunnel {
    const tunnel = new Tunnel(socket, {
      ...this.#parts,
      protocol: options.protocol,
      onEnd: (end, cause) => {
        this.#open.delete(tunnel);
        options.onEnd(end, cause);
      },
    });
    this.#open.add(tunnel);
    if (this.#isStopping) tunnel.stop();
    return tunnel;
  }

  /** Has every tunnel, and every later one, say goodbye (1001). */
  stop(): void {
    this.#isStopping = true;
    for (const tunnel of this.#open) tunnel.stop();
  }

  /** Ends what is left. */
  close(): void {
    for (const tunnel of this.#open) tunnel.cut();
  }
}
