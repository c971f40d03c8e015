/**
 * Sniffing a compressed body: a copy is decoded for the scanner.
 *
 * Invariant: whatever the bytes are, the request goes on. What cannot be
 * decoded, or would take more work than it is worth, is not looked at.
 *
 * @module
 */
import type { BodySniff } from "../core/scan/body_sniff.ts";
import { headerValue, type RequestHead } from "../core/request.ts";
import type { Inflater } from "./inflate.ts";

/** Feeds decoded bytes to a sniff, up to a bound. */
export class EncodedScan {
  readonly #inflater: Inflater | undefined;
  readonly #sniff: BodySniff;
  #bytesLeft: number;
  #isDone: boolean;

  constructor(
    inflater: Inflater | undefined,
    sniff: BodySniff,
    bytesMax: number,
  ) {
    this.#inflater = inflater;
    this.#sniff = sniff;
    this.#bytesLeft = bytesMax;
    this.#isDone = inflater === undefined;
  }

  /** Whether nothing more can be learned from this body. */
  async push(chunk: Uint8Array): Promise<boolean> {
    if (this.#isDone) return true;
    try {
      await this.#inflater?.push(chunk, (piece) => {
        this.#bytesLeft -= piece.length;
        this.#isDone = this.#sniff.push(piece) || this.#bytesLeft <= 0;
        return this.#isDone;
      });
    } catch {
      // Not what its Content-Encoding says: the engine may judge that.
      this.#isDone = true;
    }
    return this.#isDone;
  }

  close(): void {
    this.#inflater?.close();
  }
}

/** The request's content coding; `undefined` for none. */
export function contentCoding(head: RequestHead): string | undefined {
  const value = headerValue(head.headers, "content-encoding");
  const coding = value?.trim().toLowerCase();
  return coding === "" || coding === "identity" ? undefined : coding;
}
