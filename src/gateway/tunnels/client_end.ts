/**
 * The seam between a listener and a tunnel: the client's WebSocket.
 *
 * The listener owns the client's side of the protocol and hands over whole
 * messages; pings are answered and fragments put together before they come
 * here.
 *
 * Invariant: `onOpen` comes before any message, `onClose` comes once at the
 * end, and nothing comes behind it.
 *
 * @module
 */
import type { Close } from "./websocket_close.ts";

/** The client's socket, as a listener hands it over. */
export interface ClientEnd {
  /** Bytes taken by `send` that the client's machine has not. */
  readonly bufferedBytes: number;
  /** Sends text, or bytes that it copies. No effect once closing. */
  send(data: string | Uint8Array): void;
  /** Begins to close. No effect unless open. */
  close(close: Close): void;
}

/** A tunnel that waits for the client's side; goes with a status of 101. */
export interface TunnelOffer {
  /** The subprotocol that the engine has chosen, if any. */
  readonly protocol: string | undefined;
  /** Takes the client's side; MUST be called, before the socket opens. */
  join(client: ClientEnd): void;
  onOpen(): void;
  /** Bytes are the tunnel's own from here on. */
  onMessage(data: string | Uint8Array): void;
  /** The client has closed, or vanished without a word (`undefined`). */
  onClose(close: Close | undefined): void;
}
