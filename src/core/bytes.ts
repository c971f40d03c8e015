/**
 * Strings that stand for bytes, and values that say nothing.
 *
 * Header fields and request targets reach Tryst as strings of latin-1 code
 * units, bodies as bytes. Keys are compared as bytes, so there is one way over.
 *
 * Invariant: a code unit below 256 is the byte of that number, never its UTF-8
 * encoding: a client that sends UTF-8 in a header names the same session as one
 * that sends it in a body.
 *
 * @module
 */

const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

const NO_SCRATCH = new Uint8Array();

/**
 * The bytes that the latin-1 code units of `text` stand for.
 *
 * They are written to the start of `scratch` where they fit, which costs a
 * tenth of a new array; the result is then valid until its next use.
 */
export function latin1Bytes(text: string, scratch = NO_SCRATCH): Uint8Array {
  const size = text.length;
  const bytes = size <= scratch.length ? scratch : new Uint8Array(size);
  for (let i = 0; i < size; i++) bytes[i] = text.charCodeAt(i);
  return bytes.subarray(0, size);
}

/** Whether `bytes` are empty or hold only spaces, tabs and line breaks. */
export function isBlank(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) {
    if (!isBlankCode(bytes[i] ?? 0)) return false;
  }
  return true;
}

/** Whether a byte is a blank of JSON (RFC 8259, section 2). */
export function isBlankCode(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN ||
    code === TAB;
}
