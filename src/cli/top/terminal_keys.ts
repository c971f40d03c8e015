/**
 * What was pressed, from the bytes that a terminal sends.
 *
 * Sources: ECMA-48, 5.4 (control sequences); the arrows are those of the VT100
 * in both of its modes.
 *
 * Invariant: an unknown sequence is no key at all; its letters are never taken
 * for keys that were pressed.
 *
 * @module
 */

const ESCAPE = 0x1b;
const BRACKET = 0x5b;
/** `O`, which begins the arrows of application mode. */
const SHIFT_THREE = 0x4f;

/** What ends a control sequence. */
const FINAL_MIN = 0x40;
const FINAL_MAX = 0x7e;

const CONTROLS: ReadonlyMap<number, string> = new Map([
  [0x03, "ctrl-c"],
  [0x0d, "enter"],
  [ESCAPE, "escape"],
]);

/** By the byte that ends the sequence. */
const ARROWS: ReadonlyMap<number, string> = new Map([
  [0x41, "up"],
  [0x42, "down"],
]);

/**
 * The keys in what was read at once: letters in lower case, `up`, `down`,
 * `enter`, `escape` and `ctrl-c`. Others are left out.
 *
 * A sequence that is torn apart by the way is taken for an escape; terminals
 * write one at once.
 */
export function keysOf(bytes: Uint8Array): string[] {
  const keys: string[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] ?? 0;
    const next = bytes[at + 1];
    let key: string | undefined;
    if (code === ESCAPE && (next === BRACKET || next === SHIFT_THREE)) {
      at = sequenceEnd(bytes, at + 2);
      const isPlain = bytes[at - 1] === next;
      key = isPlain ? ARROWS.get(bytes[at] ?? 0) : undefined;
    } else {
      const letter = String.fromCharCode(code).toLowerCase();
      key = CONTROLS.get(code) ?? (/^[a-z]$/.test(letter) ? letter : undefined);
    }
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

/** Where the sequence ends whose first parameter is at `at`. */
function sequenceEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length) {
    const code = bytes[end] ?? 0;
    if (code >= FINAL_MIN && code <= FINAL_MAX) break;
    end++;
  }
  return end;
}
