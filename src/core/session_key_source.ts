/**
 * The interface of a session-key source: one place where a request may say
 * which session it belongs to.
 *
 * Invariant: a source yields the *value* as bytes. The same value is the same
 * session from whichever source and in whichever spelling it comes, so every
 * source decodes what its place escapes: percent-encoding in a target,
 * JSON escapes in a body.
 *
 * @module
 */
import type { RequestHead } from "./request.ts";

/** Where one configured source looks. */
export type SessionKeySource =
  & {
    /** The source as configured, for example `header:x-session-id`. */
    readonly name: string;
    /** Turns a found value into the key; absent when the value is the key. */
    readonly filter?: SessionKeyFilter;
  }
  & (
    | {
      readonly kind: "head";
      /**
       * Lower-case name of a header, when `find` yields nothing but the value
       * of that header: many such sources are then found in one pass.
       */
      readonly header?: string;
      /**
       * The value as bytes (a header's latin-1 code units are its bytes), or
       * `undefined`. Blank values are left to the caller to refuse.
       */
      find(head: RequestHead): Uint8Array | undefined;
    }
    | {
      readonly kind: "body";
      /** Member names from the root of the JSON object, at least one. */
      readonly path: readonly string[];
    }
  );

/** Derives the key from a found value; `undefined` when it holds none. */
export type SessionKeyFilter = (value: Uint8Array) => Uint8Array | undefined;

/** What the author of a filter writes, for example `claude_session`. */
export interface NamedFilter {
  /** The word after the bar. */
  readonly name: string;
  /** One line for `--help` and the README. */
  readonly summary: string;
  readonly apply: SessionKeyFilter;
}

/** What the author of a kind of source writes, for example `header:NAME`. */
export interface SessionKeyKind {
  /** The word before the colon. */
  readonly name: string;
  /** One line for `--help` and the README. */
  readonly summary: string;
  /**
   * Builds the source from what follows the colon.
   *
   * @throws {TypeError} that says what is wrong with `argument`.
   */
  parse(argument: string): SessionKeySource;
}
