/**
 * What is wrong with a configuration, and how it is told.
 *
 * Invariant: a complaint names where the value came from, what is wanted and
 * what was found, and never shows a credential.
 *
 * @module
 */

/** Longest piece of a value that a complaint shows, in UTF-16 code units. */
const SHOWN_CHARS_MAX = 80;

/** One thing that is wrong. */
export interface Complaint {
  /** Where the value came from: a path in the file, a flag or a variable. */
  readonly origin: string;
  /** The value as found, shortened, without credentials. */
  readonly value: string;
  /** What was wanted; continues "as it ...", for example "must be over 0". */
  readonly wanted: string;
}

/** Thrown by a parser; its message continues "as it ...". */
export class Refusal extends TypeError {
  override readonly name = "Refusal";
}

/**
 * A value as a complaint shows it.
 *
 * Lists and mappings are only named: a YAML file of a few lines can alias
 * itself into one of astronomic size.
 */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "a mapping";
  const text = withoutCredentials(String(value));
  const shown = text.length > SHOWN_CHARS_MAX
    ? `${text.slice(0, SHOWN_CHARS_MAX)}...`
    : text;
  return typeof value === "string" ? JSON.stringify(shown) : shown;
}

/** A key of the file within a path; quoted and shortened unless a plain word. */
export function shownKey(key: string): string {
  return /^[\w-]{1,40}$/.test(key) ? key : shownValue(key);
}

/**
 * Takes out what stands between the scheme, if there is one, and the last `@`,
 * and what follows the first `?` or `#`: a query may hold a key.
 *
 * Greedy on purpose: in a URL that is broken by a `/` in its password, or by
 * one that is missing after its scheme, no part of the password must show.
 */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z+]+:)?(\/*).*@/is, "$1$2***@")
    .replace(/([?#]).+/s, "$1***");
}
