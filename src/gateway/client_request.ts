/**
 * The seam between a listener and the gateway: a request and its answer.
 *
 * The gateway never sees the runtime's own request and response types. A
 * listener converts once; golden exchanges and the simulation use this seam
 * too, and another listener can be put in front of it.
 *
 * Invariant: the body is read at most once, either whole or by pulling.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import type { HeaderList, RequestHead } from "../core/request.ts";
import type { TunnelOffer } from "./tunnels/client_end.ts";

/** The body of a client's request. */
export interface RequestBody extends BodySource {
  /** Resolves to the whole body; instead of, not after, `read`. */
  whole(): Promise<Uint8Array>;
}

/** A client's request, as a listener hands it over. */
export interface ClientRequest {
  readonly head: RequestHead;
  /** `undefined` when the request has no body. */
  readonly body: RequestBody | undefined;
  /** The client's network address, for `x-forwarded-for`. */
  readonly clientAddress: string;
  readonly scheme: "http" | "https";
  /**
   * Has `callback` called once if the client goes away before it is answered.
   * A later call replaces the callback.
   */
  onGone(callback: () => void): void;
}

/** What the client is answered with. */
export interface Answer {
  readonly status: number;
  readonly headers: HeaderList;
  /**
   * Bytes: the whole body. A source: pulled as the client takes it; a
   * rejection ends the connection without a clean end. `undefined`: no body.
   */
  readonly body: Uint8Array | BodySource | undefined;
  /** Present with status 101: what the client's socket is handed over to. */
  readonly tunnel?: TunnelOffer;
}
