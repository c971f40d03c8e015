/**
 * What clients and engines have seen, one record a request and side.
 *
 * Invariant: records hold no more than checkers need, so that a long run fits
 * into memory; a run ends early rather than pass `RECORDS_MAX`.
 *
 * @module
 */

/** Some hours of load at the usual rate. */
export const RECORDS_MAX = 4_000_000;

/** How a request ended for its client. */
export type ClientEnd =
  /** A whole answer; `by` is the engine, or the gateway's error code. */
  | { readonly kind: "whole"; readonly status: number; readonly by: string }
  /** The connection ended before the answer did. */
  | { readonly kind: "broken"; readonly where: "head" | "body" | "tunnel" }
  /** The client left on purpose. */
  | { readonly kind: "left"; readonly where: string }
  /** A tunnel that was closed in order. */
  | { readonly kind: "closed" }
  /** Nothing came for longer than anything may take. */
  | { readonly kind: "stuck" }
  /** What came is not what may come. */
  | { readonly kind: "wrong"; readonly problem: string };

/** One request as its client saw it. */
export interface ClientRecord {
  readonly id: string;
  readonly method: string;
  /** What the client set out to do. */
  readonly plan: string;
  /** Of the whole body, whether or not the client sent all of it. */
  readonly bodyHash: number;
  readonly end: ClientEnd;
}

/** One line of an engine's account. */
export type EngineRecord =
  /** The head of a request has been read: it counts as begun. */
  | { readonly kind: "head"; readonly id: string; readonly method: string }
  /** The whole of it has been read. */
  | { readonly kind: "whole"; readonly id: string; readonly bodyHash: number }
  /** Something that is no request of HTTP/1.1. */
  | { readonly kind: "refused"; readonly reason: string };

/** Everything that was seen in a run. */
export class Journal {
  readonly clients: ClientRecord[] = [];
  readonly engines: EngineRecord[] = [];

  get isFull(): boolean {
    return this.clients.length >= RECORDS_MAX ||
      this.engines.length >= RECORDS_MAX;
  }
}
