/**
 * The byte stream that a connection becomes when an endpoint switches
 * protocols (RFC 9110, 7.8).
 *
 * Invariant: no byte is lost at the seam: what came together with the head of
 * the response is what the first reads yield.
 *
 * @module
 */
import type { Socket } from "../core/outside.ts";
import type { Connection } from "./connection.ts";

/** A connection that speaks HTTP no more. */
export class UpgradedSocket implements Socket {
  readonly #connection: Connection;
  readonly #onClose: () => void;

  /** @param onClose Closes the connection; may be called more than once. */
  constructor(connection: Connection, onClose: () => void) {
    this.#connection = connection;
    this.#onClose = onClose;
  }

  read(buffer: Uint8Array): Promise<number | null> {
    const { bytes, start, end, socket } = this.#connection;
    if (start === end) return socket.read(buffer);
    const count = Math.min(buffer.length, end - start);
    buffer.set(bytes.subarray(start, start + count));
    this.#connection.start += count;
    return Promise.resolve(count);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#connection.socket.write(bytes);
  }

  close(): void {
    this.#onClose();
  }
}
