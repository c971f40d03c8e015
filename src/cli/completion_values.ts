/**
 * What a shell can offer where a word is wanted, told from how tables call it.
 *
 * Invariant: tables are written for people; a shell offers nothing where they
 * do not say what there is.
 *
 * @module
 */

/** What a shell offers. */
export type Candidates =
  | { readonly kind: "files" | "folders" | "none" }
  | { readonly kind: "words"; readonly words: readonly string[] };

/**
 * What to offer for a value or an operand.
 *
 * @param name As a flag or a command calls it: `FILE`, `DIR`, words such as
 * `text|json`, or anything else.
 */
export function candidatesOf(name: string | undefined): Candidates {
  if (name === "FILE") return { kind: "files" };
  if (name === "DIR") return { kind: "folders" };
  // Words are lower-case: HOST|PORT would be two things, not two words.
  if (name !== undefined && /^[a-z0-9_-]+(\|[a-z0-9_-]+)+$/.test(name)) {
    return { kind: "words", words: name.split("|") };
  }
  return { kind: "none" };
}
