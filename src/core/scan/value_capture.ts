/**
 * Collects one value that arrives in pieces, in fixed memory.
 *
 * Up to its limit a value is kept whole. Beyond, what is in the buffer goes
 * into a running SHA-256 whenever the buffer is full, so that the longest
 * value costs no more memory than the limit.
 *
 * Invariant: the result depends on the bytes alone, never on the pieces.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";
import { isBlank } from "../bytes.ts";
import { SESSION_KEY_BYTES_MAX } from "../session_key.ts";

const NO_BYTES = new Uint8Array();

/** A collected value. The bytes are valid until the next `begin`. */
export interface CapturedValue {
  readonly bytes: Uint8Array;
  /** Whether the value was over the limit: `bytes` are then its SHA-256. */
  readonly isDigest: boolean;
}

/** A buffer for one value at a time. */
export class ValueCapture {
  /** Made on the first byte: most bodies need none. */
  #buffer = NO_BYTES;
  #bytesMax = SESSION_KEY_BYTES_MAX;
  #used = 0;
  #isBlank = true;
  #digest: Hash | undefined;

  /** Starts a value that is kept whole up to `bytesMax`. */
  begin(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#used = 0;
    this.#isBlank = true;
    this.#digest = undefined;
  }

  /** Adds one byte. */
  byte(code: number): void {
    if (this.#used === 0 || this.#used === this.#bytesMax) this.#makeRoom();
    this.#buffer[this.#used++] = code;
  }

  /** Adds `bytes`. */
  run(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#used === 0 || this.#used === this.#bytesMax) this.#makeRoom();
      const end = Math.min(bytes.length, at + this.#bytesMax - this.#used);
      this.#buffer.set(bytes.subarray(at, end), this.#used);
      this.#used += end - at;
      at = end;
    }
  }

  /** The whole value, or its SHA-256; `undefined` when it is blank. */
  finish(): CapturedValue | undefined {
    const rest = this.#buffer.subarray(0, this.#used);
    if (this.#isBlank && isBlank(rest)) return undefined;
    if (this.#digest === undefined) return { bytes: rest, isDigest: false };
    return { bytes: this.#digest.update(rest).digest(), isDigest: true };
  }

  /** Makes the buffer, or empties a full one into the digest. */
  #makeRoom(): void {
    if (this.#used === 0) {
      if (this.#buffer.length >= this.#bytesMax) return;
      const size = Math.max(SESSION_KEY_BYTES_MAX, this.#bytesMax);
      this.#buffer = new Uint8Array(size);
      return;
    }
    const full = this.#buffer.subarray(0, this.#used);
    this.#digest ??= createHash("sha256");
    this.#digest.update(full);
    this.#isBlank &&= isBlank(full);
    this.#used = 0;
  }
}
