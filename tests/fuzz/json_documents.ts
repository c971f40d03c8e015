/**
 * Random JSON documents that look for trouble.
 *
 * Names are mostly those a scanner looks for, in every spelling; strings end
 * in backslashes and quotes, hold halves of surrogate pairs, and have lengths
 * around the limits; blanks and duplicates stand everywhere they may.
 *
 * Invariant: `document` yields a text that `JSON.parse` accepts.
 *
 * @module
 */
import type { SeededRandom } from "./random.ts";

/** Names that mean something to the paths under test, and near misses. */
const NAMES = [
  ..."abcs",
  "id",
  "session_id",
  "metadata",
  "user_id",
  "conversation",
  "model",
  "stream",
  "messages",
  "session_idx",
  "ession_id",
  "",
  "é",
  "\u{1f600}",
  '"',
  "\\",
];
const PIECES = [
  ...'ab0"\\/{}[]:,\n\t\u0000\u001f ',
  "é",
  "日本",
  "\u{1f600}",
  "\ud83d",
  "\ude00",
  "\u2028",
  "\\\\",
  '\\"',
  '"session_id":"evil"',
  "lorem ipsum dolor sit amet ",
];
const NUMBERS = ["0", "-0", "42", "-1.5e+10", "1E5", "0.0", "2e-3"];
const TOKEN_PARTS = [..."001234567890-+..eEtn"];
const BLANKS = ["", "", "", " ", "\n", "\t \r\n", "  "];
/** Long strings have lengths around these, in code units. */
const LENGTHS = [16, 256, 1024, 1024, 2048, 5000, 8192];
const MEMBER_COUNT_MAX = 6;

/** Makes documents. */
export class DocumentMaker {
  readonly #random: SeededRandom;
  readonly #longPeriod: number;

  /** One string or number in `longPeriod` is long. */
  constructor(random: SeededRandom, longPeriod: number) {
    this.#random = random;
    this.#longPeriod = longPeriod;
  }

  /** A whole document: an object, now and then after a mark and blanks. */
  document(): string {
    const mark = this.#random.oneIn(8) ? "\ufeff" : "";
    const object = this.#object(1 + this.#random.below(4));
    return mark + this.#blank() + object + this.#blank();
  }

  /** Something like a number or a literal name, more often wrong than right. */
  token(): string {
    const random = this.#random;
    if (random.oneIn(4)) {
      const literal = random.pick(["true", "false", "null"]);
      return literal.slice(0, 1 + random.below(literal.length + 1));
    }
    let token = "";
    for (let i = random.below(7); i >= 0; i--) {
      token += random.pick(TOKEN_PARTS);
    }
    return token;
  }

  #object(depth: number): string {
    const members: string[] = [];
    for (let i = this.#random.below(MEMBER_COUNT_MAX + 1); i > 0; i--) {
      const name = this.#spell(this.#random.pick(NAMES));
      const value = this.#value(depth - 1);
      members.push(
        this.#blank() + name + this.#blank() + ":" + this.#blank() + value +
          this.#blank(),
      );
    }
    return `{${members.join(",") || this.#blank()}}`;
  }

  #value(depth: number): string {
    const random = this.#random;
    const kind = random.below(depth > 0 ? 10 : 7);
    if (kind < 3) return this.#spell(this.#string());
    if (kind === 3) return this.#number();
    if (kind === 4) return random.pick(["true", "false", "null"]);
    if (kind === 5) return this.#spell(random.pick(["", " ", "\n\t", "x"]));
    if (kind === 6) return random.pick(["{}", "[]", "[[]]", '{"a":"]"}']);
    if (kind < 9) return this.#object(depth);
    return `[${this.#value(depth - 1)},${this.#object(depth - 1)}]`;
  }

  #number(): string {
    const random = this.#random;
    if (!random.oneIn(2 * this.#longPeriod)) return random.pick(NUMBERS);
    return "1" + "0".repeat(random.pick(LENGTHS) - random.below(3));
  }

  #string(): string {
    const random = this.#random;
    if (random.oneIn(this.#longPeriod)) {
      const length = random.pick(LENGTHS) - 1 + random.below(3);
      const filler = random.pick(["x", "x", " ", "\\", '"', "é"]);
      return filler.repeat(length) + random.pick(["", "", "\\", '"', " "]);
    }
    let text = "";
    for (let i = random.below(8); i > 0; i--) text += random.pick(PIECES);
    return text;
  }

  /** A JSON string for `text`, its characters escaped as chance will have. */
  #spell(text: string): string {
    const random = this.#random;
    const eagerness = random.pick([0, 0, 1, 3]);
    let spelled = "";
    // By characters: a pair escaped by half is no longer UTF-8.
    for (const character of text) {
      const isForced = eagerness > 0 && random.oneIn(eagerness);
      spelled += isForced
        ? unicodeEscapes(character)
        : JSON.stringify(character).slice(1, -1);
    }
    return `"${random.oneIn(4) ? spelled.replaceAll("/", "\\/") : spelled}"`;
  }

  #blank(): string {
    return this.#random.pick(BLANKS);
  }
}

/** `character` as one or two `\u` escapes, in either case of digits. */
function unicodeEscapes(character: string): string {
  let escapes = "";
  for (let i = 0; i < character.length; i++) {
    const digits = character.charCodeAt(i).toString(16).padStart(4, "0");
    escapes += `\\u${i % 2 === 0 ? digits : digits.toUpperCase()}`;
  }
  return escapes;
}
