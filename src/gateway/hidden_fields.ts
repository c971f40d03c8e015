/**
 * Fields of engines' answers that stop at the gateway.
 *
 * Invariant: a name is looked up once in a set; beginnings of names are few.
 *
 * @module
 */

/** Names of fields that clients do not get. */
export class HiddenFields {
  readonly #names: ReadonlySet<string>;
  readonly #beginnings: readonly string[];

  /** @param patterns Names, or beginnings of names and a star. */
  constructor(patterns: readonly string[]) {
    this.#names = new Set(patterns.filter((text) => !text.endsWith("*")));
    this.#beginnings = patterns
      .filter((text) => text.endsWith("*"))
      .map((text) => text.slice(0, -1));
  }

  /** Whether a field is hidden; `name` in lower case. */
  has(name: string): boolean {
    return this.#names.has(name) ||
      this.#beginnings.some((beginning) => name.startsWith(beginning));
  }
}
