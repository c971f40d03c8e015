/**
 * What a scanner must find, worked out the slow and obvious way.
 *
 * `JSON.parse` says whether a text is JSON and what its strings mean; but it
 * keeps only the last of duplicate members and rounds numbers, so a small
 * reader walks the text itself. It trusts the text to be valid.
 *
 * Invariant: nothing here is shared with the scanner.
 *
 * @module
 */
import { createHash } from "node:crypto";

const encoder = new TextEncoder();

/** A found value: index of its path, kind, and bytes in hexadecimal. */
export interface Finding {
  readonly index: number;
  readonly kind: string;
  readonly value: string;
}

/** A path to look for, as the scanner takes it. */
export interface ReferencePath {
  readonly members: readonly string[];
  readonly bytesMax: number;
}

/**
 * All values on `paths` in document order, duplicates included; `undefined`
 * when `text` is not a JSON object.
 */
export function referenceFindings(
  text: string,
  paths: readonly ReferencePath[],
): Finding[] | undefined {
  const body = text.startsWith("\ufeff") ? text.slice(1) : text;
  try {
    JSON.parse(body);
  } catch {
    // Any failure means the same: the text is not JSON.
    return undefined;
  }
  const start = blanksEnd(body, 0);
  if (body[start] !== "{") return undefined;
  return new Reader(body, paths).object(start);
}

/** UTF-8 in hexadecimal; a surrogate that stands alone becomes three bytes. */
export function utf8Hex(text: string): string {
  if (text.isWellFormed()) return toHex(encoder.encode(text));
  let hex = "";
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    if (point < 0xd800 || point > 0xdfff) {
      hex += toHex(encoder.encode(character));
    } else {
      const bytes = [0xed, 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f)];
      hex += toHex(Uint8Array.from(bytes));
    }
  }
  return hex;
}

class Reader {
  readonly #text: string;
  readonly #paths: readonly ReferencePath[];
  readonly #found: Finding[] = [];

  constructor(text: string, paths: readonly ReferencePath[]) {
    this.#text = text;
    this.#paths = paths;
  }

  object(start: number): Finding[] {
    this.#members(start, []);
    return this.#found;
  }

  /** Reads the object at `start`, whose path is `prefix`. */
  #members(start: number, prefix: readonly string[]): void {
    const text = this.#text;
    let at = blanksEnd(text, start + 1);
    while (text[at] !== "}") {
      const nameEnd = valueEnd(text, at);
      const path = [...prefix, JSON.parse(text.slice(at, nameEnd))];
      const from = blanksEnd(text, blanksEnd(text, nameEnd) + 1);
      const to = valueEnd(text, from);
      this.#value(from, to, path);
      at = blanksEnd(text, to);
      if (text[at] === ",") at = blanksEnd(text, at + 1);
    }
  }

  #value(from: number, to: number, path: readonly string[]): void {
    const token = this.#text.slice(from, to);
    if (token.startsWith("{")) {
      const leadsOn = this.#paths.some(({ members }) =>
        members.length > path.length && isPrefix(path, members)
      );
      if (leadsOn) this.#members(from, path);
      return;
    }
    const index = this.#paths.findIndex(({ members }) =>
      members.length === path.length && isPrefix(path, members)
    );
    const finding = index < 0 ? undefined : this.#finding(index, token);
    if (finding !== undefined) this.#found.push(finding);
  }

  #finding(index: number, token: string): Finding | undefined {
    if (token === "null" || token.startsWith("[")) return undefined;
    if (token === "true" || token === "false") {
      return { index, kind: "boolean", value: token };
    }
    const isString = token.startsWith('"');
    const value: string = isString ? JSON.parse(token) : token;
    if (/^[ \t\n\r]*$/.test(value)) return undefined;
    const hex = utf8Hex(value);
    const bytesMax = this.#paths[index]?.bytesMax ?? 0;
    if (hex.length / 2 <= bytesMax) {
      return { index, kind: isString ? "string" : "number", value: hex };
    }
    const digest = createHash("sha256").update(fromHex(hex)).digest("hex");
    return { index, kind: "digest", value: digest };
  }
}

/** Every byte as two hexadecimal digits: half of a fuzzer's time otherwise. */
const HEX_OF_BYTE = Array.from(
  { length: 256 },
  (_, byte) => byte.toString(16).padStart(2, "0"),
);

/** Bytes as two hexadecimal digits each. */
export function toHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += HEX_OF_BYTE[byte];
  return hex;
}

function fromHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  }
  return bytes;
}

function isPrefix(path: readonly string[], of: readonly string[]): boolean {
  return path.every((name, index) => name === of[index]);
}

function blanksEnd(text: string, from: number): number {
  let at = from;
  while (" \t\n\r".includes(text[at] ?? "x")) at++;
  return at;
}

/** Index after the value at `from`, which is valid. */
function valueEnd(text: string, from: number): number {
  let at = from;
  let depth = 0;
  do {
    const character = text[at] ?? "";
    if (character === '"') {
      at++;
      while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
      at++;
    } else if (character === "{" || character === "[") {
      depth++;
      at++;
    } else if (character === "}" || character === "]") {
      depth--;
      at++;
    } else if (depth > 0) {
      at++;
    } else {
      while (!' \t\n\r,}]"'.includes(text[at] ?? "}")) at++;
    }
  } while (depth > 0);
  return at;
}
