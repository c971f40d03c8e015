/**
 * Names of header fields that do not cross the gateway in one direction.
 *
 * Every field of every message is looked up here, so a single character says
 * of most names that they begin like none of the beginnings: comparing with
 * each of those first made the fields of a message a third slower.
 *
 * Invariant: it is fixed once it is made, whatever it is asked.
 *
 * @module
 */

/** Behind `x-`, which is how most names with a beginning begin. */
const TELLING = 2;

/** Names of fields are ASCII (RFC 9110, 5.1). */
const ASCII_CODES = 128;

/** Names of fields that stop. */
export class StoppedFields {
  readonly #names: ReadonlySet<string>;
  readonly #beginnings: readonly string[];
  /** Indexed by character: 1 where a beginning has it at `TELLING`. */
  readonly #telling = new Uint8Array(ASCII_CODES);

  /** @param patterns Names, or beginnings of names and a star. */
  constructor(patterns: readonly string[]) {
    this.#names = new Set(patterns.filter((text) => !text.endsWith("*")));
    this.#beginnings = patterns
      .filter((text) => text.endsWith("*"))
      .map((text) => text.slice(0, -1));
    for (const beginning of this.#beginnings) {
      // A beginning that is too short for it goes with any character.
      if (beginning.length <= TELLING) this.#telling.fill(1);
      else this.#telling[beginning.charCodeAt(TELLING)] = 1;
    }
  }

  /** Whether a field stops; `name` in lower case. */
  has(name: string): boolean {
    if (this.#names.has(name)) return true;
    // Servers that turn names into variables take the two for one.
    if (name.includes("_")) return this.has(name.replaceAll("_", "-"));
    const mayBegin = name.length <= TELLING ||
      this.#telling[name.charCodeAt(TELLING)] === 1;
    return mayBegin && this.#begins(name);
  }

  #begins(name: string): boolean {
    for (const beginning of this.#beginnings) {
      if (name.startsWith(beginning)) return true;
    }
    return false;
  }
}
