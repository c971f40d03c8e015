/**
 * A body as something to pull bytes from, whichever side it comes from.
 *
 * Invariant: bytes are handed over once and in order, and nobody pushes: the
 * reader asks, so a slow receiver slows the sender (back-pressure).
 *
 * @module
 */

/** Bytes to be pulled: a client's request body or an engine's answer. */
export interface BodySource {
  /** Declared length in bytes, or `undefined` where the length is unknown. */
  readonly length: number | undefined;
  /**
   * Resolves to the next bytes, or `undefined` after the last one.
   *
   * The bytes belong to the caller. Rejects when the sender goes away or
   * breaks its framing; a body that ended early never looks complete.
   *
   * @param spare Bytes of an earlier read that the caller is done with; their
   * memory may be taken for this one, so that a long body makes no garbage.
   */
  read(spare?: Uint8Array): Promise<Uint8Array | undefined>;
  /** Stops the sender. Harmless after the end, and when called twice. */
  cancel(): void;
}
