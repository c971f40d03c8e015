/**
 * Percent-decoding of request targets to bytes (RFC 3986, section 2.1).
 *
 * Invariant: nothing throws: a percent sign that starts no escape stands for
 * itself, as in the URL standard of the WHATWG.
 *
 * @module
 */
import { latin1Bytes } from "../core/bytes.ts";

const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;

/** Decodes `text`; with `plusIsSpace` as in forms and queries. */
export function percentDecode(
  text: string,
  options: { readonly plusIsSpace: boolean },
): Uint8Array {
  const bytes = latin1Bytes(text);
  let size = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] ?? 0;
    const escaped = code === PERCENT ? escapedByte(text, at) : undefined;
    if (escaped !== undefined) {
      bytes[size++] = escaped;
      at += 2;
    } else {
      bytes[size++] = options.plusIsSpace && code === PLUS ? SPACE : code;
    }
  }
  return bytes.subarray(0, size);
}

function escapedByte(text: string, at: number): number | undefined {
  const digits = text.slice(at + 1, at + 3);
  return /^[0-9A-Fa-f]{2}$/.test(digits) ? parseInt(digits, 16) : undefined;
}
