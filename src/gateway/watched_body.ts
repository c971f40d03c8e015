/**
 * A request body on its way to the engine.
 *
 * Invariant: it never passes more than the limit, and a client that stops
 * sending does not keep it open for ever.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import { GatewayError } from "../core/error.ts";
import type { RequestBody } from "./client_request.ts";
import type { ProgressWatch } from "./progress.ts";

/** A body that has ended. */
export const EMPTY_BODY: BodySource = {
  length: 0,
  read: () => Promise.resolve(undefined),
  cancel: () => {},
};

/** Watches a body as it flows: its size and its client's progress. */
export class WatchedBody implements BodySource {
  readonly length: number | undefined;
  readonly #body: RequestBody;
  readonly #progress: ProgressWatch;
  #bytesLeft: number;
  /** Bytes read so far. */
  byteCount = 0;

  constructor(body: RequestBody, progress: ProgressWatch, bytesMax: number) {
    this.length = body.length;
    this.#body = body;
    this.#progress = progress;
    this.#bytesLeft = bytesMax;
  }

  async read(spare?: Uint8Array): Promise<Uint8Array | undefined> {
    const chunk = await this.#progress.within(this.#body.read(spare));
    if (chunk === undefined) return undefined;
    this.byteCount += chunk.length;
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft < 0) {
      this.#body.cancel();
      throw new GatewayError("body_too_large");
    }
    return chunk;
  }

  cancel(): void {
    this.#body.cancel();
  }
}
