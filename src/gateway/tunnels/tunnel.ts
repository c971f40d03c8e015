/**
 * The relay phase of a WebSocket: whole messages both ways until one side ends.
 *
 * Each leg keeps its own handshake, masks, pings and compression; what crosses
 * is messages, close codes and reasons. A code that says that a side vanished
 * cannot be sent, so the other side reads 1001. A side at fault reads what its
 * fault was; then an innocent client reads 1011, an innocent engine 1001.
 *
 * Reading from the engine stops while the client has much to take. The
 * listener's sockets cannot be made to stop, so a client that sends more than
 * the engine takes is closed with 1013 once the queue is full.
 *
 * A tunnel that is silent stays open: a person who thinks, and a model that
 * does, are silent for longer than any limit that would save something. Sides
 * that are gone are found by pings.
 *
 * Invariant: `onEnd` is called exactly once, when the engine's socket is
 * closed, and nothing of the tunnel is left then but the client's goodbye.
 *
 * @module
 */
import { GatewayError } from "../../core/error.ts";
import type { Clock, Socket } from "../../core/outside.ts";
import type { ClientEnd, TunnelOffer } from "./client_end.ts";
import {
  EngineEnd,
  type EngineEnding,
  type EngineEndOwner,
  MESSAGE_BYTES_MAX,
} from "./engine_end.ts";
import type { RelayEnd } from "../relay.ts";
import type { TunnelCause, TunnelTraffic } from "./tunnel_traffic.ts";
import { type Close, CLOSE_CODE } from "./websocket_close.ts";
import { OPCODE } from "./websocket_frame.ts";

/** 1 MiB that the client has not taken: then the engine is not read. */
const CLIENT_BYTES_MAX = 1_048_576;

/** 5 ms between looks at a full client: a listener says no word about it. */
const ROOM_MS = 5;

/** 5 s for the client's side to open, once its answer is on its way. */
const OPEN_MS = 5_000;

/** What a tunnel is told. */
export interface TunnelParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly traffic: TunnelTraffic;
  /** The subprotocol that the engine has chosen, if any. */
  readonly protocol: string | undefined;
  readonly onEnd: (end: RelayEnd, cause: TunnelCause) => void;
}

const encoder = new TextEncoder();

/** One tunnel. */
export class Tunnel implements TunnelOffer, EngineEndOwner {
  readonly #parts: TunnelParts;
  readonly #engine: EngineEnd;
  #client: ClientEnd | undefined;
  #cancelOpening: () => void;
  #isOpen = false;
  #isStopping = false;
  #endWait: () => void = () => {};
  #end: RelayEnd | undefined;
  #cause: TunnelCause = "client_gone";

  constructor(socket: Socket, parts: TunnelParts) {
    this.#parts = parts;
    this.#engine = new EngineEnd(socket, { ...parts, owner: this });
    this.#cancelOpening = parts.clock.after(
      OPEN_MS,
      () => this.onClose(undefined),
    );
    parts.traffic.opened();
  }

  get protocol(): string | undefined {
    return this.#parts.protocol;
  }

  join(client: ClientEnd): void {
    this.#client = client;
  }

  onOpen(): void {
    if (this.#end !== undefined) {
      this.#client?.close(GOING_AWAY);
      return;
    }
    this.#isOpen = true;
    this.#cancelOpening();
    this.#engine.start();
    if (this.#isStopping) this.stop();
  }

  onMessage(data: string | Uint8Array): void {
    if (this.#end !== undefined) return;
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    if (bytes.length > MESSAGE_BYTES_MAX) {
      const error = new GatewayError("body_too_large");
      this.#endAs("client_broken", { kind: "broken", error });
      this.#client?.close({
        code: CLOSE_CODE.tooBig,
        reason: `At most ${MESSAGE_BYTES_MAX} bytes a message`,
      });
      this.#engine.close(GOING_AWAY);
    } else if (this.#engine.isFull) {
      this.#endAs("endpoint_slow", { kind: "complete" });
      this.#client?.close({
        code: CLOSE_CODE.tryAgainLater,
        reason: "The endpoint takes less than is sent",
      });
      this.#engine.abandon(GOING_AWAY);
    } else {
      this.#parts.traffic.relayed("to_endpoint", bytes.length);
      const { text, binary } = OPCODE;
      this.#engine.send(typeof data === "string" ? text : binary, bytes);
    }
  }

  onClose(close: Close | undefined): void {
    if (this.#end !== undefined) return;
    if (close === undefined) {
      this.#endAs("client_gone", { kind: "client_gone" });
      this.#engine.abandon(GOING_AWAY);
    } else {
      this.#endAs("client", { kind: "complete" });
      this.#engine.close(close);
    }
  }

  /** Closes both sides with 1001, as soon as they are there. */
  stop(): void {
    this.#isStopping = true;
    if (this.#end !== undefined || !this.#isOpen) return;
    this.#endAs("stopped", { kind: "complete" });
    this.#client?.close(GOING_AWAY);
    this.#engine.close(GOING_AWAY);
  }

  /** Closes the engine's socket without another word. */
  cut(): void {
    this.#endAs("stopped", { kind: "complete" });
    this.#engine.shut();
  }

  room(): Promise<void> | undefined {
    return this.#isFull() ? this.#untilRoom() : undefined;
  }

  onEngineMessage(data: string | Uint8Array, byteCount: number): void {
    this.#parts.traffic.relayed("to_client", byteCount);
    this.#client?.send(data);
  }

  onEngineEnd(ending: EngineEnding): void {
    switch (ending.kind) {
      case "closed":
        this.#endAs("endpoint", { kind: "complete" });
        this.#client?.close(ending.close);
        break;
      case "gone":
        this.#engineFailed("upstream_reset", GOING_AWAY, ending.cause);
        break;
      case "silent":
        this.#engineFailed("upstream_idle_timeout", GOING_AWAY);
        break;
      case "broken":
        this.#engineFailed("upstream_malformed", ENDPOINT_BROKEN, ending.error);
        break;
    }
  }

  onEngineClosed(): void {
    this.#cancelOpening();
    this.#parts.traffic.closed(this.#cause);
    this.#parts.onEnd(this.#end ?? { kind: "client_gone" }, this.#cause);
  }

  #engineFailed(
    code: "upstream_reset" | "upstream_idle_timeout" | "upstream_malformed",
    close: Close,
    cause?: unknown,
  ): void {
    const error = new GatewayError(code, { cause });
    const isBroken = code === "upstream_malformed";
    this.#endAs(isBroken ? "endpoint_broken" : "endpoint_gone", {
      kind: "broken",
      error,
    });
    this.#client?.close(close);
  }

  /** The first end is the one that counts. */
  #endAs(cause: TunnelCause, end: RelayEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#cause = cause;
    this.#endWait();
  }

  #isFull(): boolean {
    return this.#end === undefined &&
      (this.#client?.bufferedBytes ?? 0) > CLIENT_BYTES_MAX;
  }

  /** How long a client takes is its own affair, as with any answer. */
  #untilRoom(): Promise<void> {
    return new Promise((resolve) => {
      let cancel = () => {};
      const look = () => {
        if (this.#isFull()) cancel = this.#parts.clock.after(ROOM_MS, look);
        else resolve();
      };
      this.#endWait = () => {
        cancel();
        resolve();
      };
      look();
    });
  }
}

const GOING_AWAY: Close = { code: CLOSE_CODE.goingAway, reason: "" };
const ENDPOINT_BROKEN: Close = { code: CLOSE_CODE.internalError, reason: "" };
