/**
 * What a scanner of a body reports, and to whom.
 *
 * Invariant: the receiver decides what still matters, because only it knows
 * which value is good enough; the scanner only obeys.
 *
 * @module
 */

/**
 * A value found on a path: a string that is not blank, a number as its raw
 * token, or a boolean. A string or number over the limit of its path comes as
 * its SHA-256 (`digest`). Bytes are valid during the call only.
 */
export type ScanValue =
  | {
    readonly kind: "string" | "number" | "digest";
    readonly bytes: Uint8Array;
  }
  | { readonly kind: "boolean"; readonly value: boolean };

/** Receives what a scanner finds. */
export interface ScanSink {
  /**
   * Takes a value of the path with this index, in document order, duplicates
   * too; returns the bit set of the paths that still matter, 0 to stop.
   */
  found(index: number, value: ScanValue): number;
}
