/**
 * What an endpoint has responded, as the gateway gets to see it.
 *
 * Invariant: of a body and another protocol there is at most one.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import type { Socket } from "../core/outside.ts";
import type { HeaderList } from "../core/request.ts";

/** What an endpoint has responded. */
export interface UpstreamResponse {
  readonly status: number;
  readonly reason: string;
  /** Lower-case names, order and repeats kept; equal lengths made one. */
  readonly headers: HeaderList;
  /**
   * - bytes: the body is complete and belongs to the caller.
   * - a source: it streams; MUST be read to its end or canceled.
   * - `undefined`: there is none (HEAD, 204, 304).
   */
  readonly body: Uint8Array<ArrayBuffer> | BodySource | undefined;
  /** Present with status 101 only; MUST be closed. */
  readonly upgraded?: Socket;
}
