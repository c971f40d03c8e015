/**
 * Field names and values: which bytes they may hold, and bytes to strings.
 *
 * Engines send the same few lines over and over (`server: uvicorn`,
 * `content-type: application/json`), and making a string of 20 bytes costs
 * more than checking 20 bytes against a string. So strings are kept in a
 * small table, direct-mapped by a hash, and made anew only on a miss.
 *
 * Invariant: the table changes the cost of a string and never its content.
 *
 * @module
 */

/** 256 texts: a fleet of engines shows some dozens of names and values. */
const SLOTS = 256;

/** Longer texts are ids and cookies, which hardly ever repeat. */
const KEPT_BYTES_MAX = 64;

const HTAB = 0x09;
const DELETE = 0x7f;

/**
 * Token bytes to their lower case, every other byte to 0 (RFC 9110, 5.6.2).
 */
export const NAME_BYTES: Uint8Array = nameBytes();

/**
 * Bytes that a field value or reason may hold to themselves, control bytes
 * but the tabulator to 0 (RFC 9110, 5.5).
 */
export const VALUE_BYTES: Uint8Array = valueBytes();

/** Makes strings of field bytes, latin-1, and keeps those that repeat. */
export class FieldTexts {
  readonly #slots: string[] = new Array(SLOTS).fill("");

  /**
   * The text of `bytes` from `start` to `end` seen through `table`, or
   * `undefined` when the table maps one of them to 0.
   */
  read(
    bytes: Uint8Array,
    range: { readonly start: number; readonly end: number },
    table: Uint8Array,
  ): string | undefined {
    const { start, end } = range;
    let hash = end - start;
    for (let at = start; at < end; at++) {
      const code = table[bytes[at] ?? 0] ?? 0;
      if (code === 0) return undefined;
      hash = (Math.imul(hash, 31) + code) | 0;
    }
    if (end - start > KEPT_BYTES_MAX) return decode(bytes, range, table);
    const slot = (hash ^ (hash >>> 8)) & (SLOTS - 1);
    const kept = this.#slots[slot] ?? "";
    if (isText(kept, bytes, range, table)) return kept;
    const text = decode(bytes, range, table);
    this.#slots[slot] = text;
    return text;
  }
}

function isText(
  text: string,
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  table: Uint8Array,
): boolean {
  const length = end - start;
  if (text.length !== length) return false;
  for (let i = 0; i < length; i++) {
    if (text.charCodeAt(i) !== table[bytes[start + i] ?? 0]) return false;
  }
  return true;
}

/** Eight characters a call: measured at a third of the cost of one by one. */
function decode(
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  table: Uint8Array,
): string {
  const code = (at: number): number => table[bytes[at] ?? 0] ?? 0;
  let text = "";
  let at = start;
  for (; at + 8 <= end; at += 8) {
    text += String.fromCharCode(
      code(at),
      code(at + 1),
      code(at + 2),
      code(at + 3),
      code(at + 4),
      code(at + 5),
      code(at + 6),
      code(at + 7),
    );
  }
  for (; at < end; at++) text += String.fromCharCode(code(at));
  return text;
}

function nameBytes(): Uint8Array {
  const table = new Uint8Array(256);
  const marks = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
  for (const mark of marks) table[mark.charCodeAt(0)] = mark.charCodeAt(0);
  for (let code = 0x41; code <= 0x5a; code++) table[code] = code | 0x20;
  return table;
}

function valueBytes(): Uint8Array {
  const table = new Uint8Array(256);
  for (let code = 0x20; code < 256; code++) table[code] = code;
  table[HTAB] = HTAB;
  table[DELETE] = 0;
  return table;
}
