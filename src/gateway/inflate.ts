/**
 * Decoding a compressed request body for the scanner.
 *
 * Invariant: only a copy is decoded, in small pieces, and never more of it
 * than asked for: a body that inflates a thousandfold costs no more memory
 * than a piece.
 *
 * @module
 */

/** Decodes one body. */
export interface Inflater {
  /**
   * Decodes `chunk` and hands each piece to `sink` until `sink` returns
   * `true`. Resolves when the chunk is used up or `sink` has had enough;
   * rejects when the bytes are not of this coding.
   */
  push(
    chunk: Uint8Array,
    sink: (piece: Uint8Array) => boolean,
  ): Promise<void>;
  /** Frees the decoder. Idempotent. */
  close(): void;
}

/** Makes an inflater for a content coding, or `undefined` for an unknown one. */
export type Inflate = (coding: string) => Inflater | undefined;
