/**
 * What one key of the configuration is, and the ways to read its value.
 *
 * Invariant: a field says everything of its key in one place, so that parsing,
 * defaults, `--help` and the README cannot disagree.
 *
 * @module
 */
import { type Complaint, Refusal, shownValue } from "./complaint.ts";
import type { ConfigNames } from "./config.ts";
import { nearestName } from "./nearest.ts";

/** Where a value came from, and whom to tell what is wrong with it. */
export interface Spot {
  /** A path in the file, or the flag or variable that overrides it. */
  readonly origin: string;
  readonly names: ConfigNames;
  /** Every complaint so far; readers of lists add one for each bad entry. */
  readonly complaints: Complaint[];
}

/** One key of the configuration. */
export interface Field<T> {
  /** Sections and key, joined by dots. */
  readonly path: string;
  /** The default as one would write it. */
  readonly initial: unknown;
  /** One line, with the unit or the accepted values. */
  readonly doc: string;
  /**
   * Whether a new value has no effect before the next start: threads, sockets
   * and shared memory are made once.
   */
  readonly needsRestart?: true;
  /**
   * Reads a value from the file, a flag or a variable; the latter two are
   * always text. Entries of lists complain on their own.
   *
   * @throws {Refusal} when the value as a whole is of no use.
   */
  readonly read: (value: unknown, spot: Spot) => T;
}

/** Adds a complaint on `value`. */
export function complain(
  spot: Spot,
  complaint: { readonly at?: string; readonly value: unknown },
  wanted: string,
): void {
  spot.complaints.push({
    origin: spot.origin + (complaint.at ?? ""),
    value: shownValue(complaint.value),
    wanted,
  });
}

/**
 * Runs `read`; a refusal becomes a complaint and `otherwise` is returned, so
 * that the rest of the configuration is still checked.
 */
export function readOr<T>(
  spot: Spot,
  complaint: { readonly at?: string; readonly value: unknown },
  { read, otherwise }: { read: () => T; otherwise: () => T },
): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    complain(spot, complaint, error.message);
    return otherwise();
  }
}

/** The end of a message on an unknown name: the nearest, and what is known. */
export function knownNames(word: unknown, known: readonly string[]): string {
  const nearest = typeof word === "string"
    ? nearestName(word, known)
    : undefined;
  return nearest === undefined
    ? `known are ${known.join(", ")}`
    : `did you mean "${nearest}"?`;
}
