/**
 * Frames of a WebSocket as they come, for both ends of a tunnel (RFC 6455, 5).
 *
 * Written from the RFC on its own account, so that a mistake of the gateway's
 * codec is not made twice.
 *
 * Invariant: a frame is given out once, when all of it has come, and unmasked.
 *
 * @module
 */
import { latin1Text } from "../gateway/raw_client.ts";

/** Opcodes of RFC 6455, 11.8. */
export const OPCODES = { text: 1, close: 8, ping: 9 } as const;

/** One whole frame; its payload has one character a byte. */
export interface WholeFrame {
  readonly opcode: number;
  readonly payload: string;
}

/** Bytes in, frames out. */
export class FrameReader {
  #bytes = new Uint8Array();

  /** Takes bytes; returns the frames that they complete. */
  push(bytes: Uint8Array): WholeFrame[] {
    const joined = new Uint8Array(this.#bytes.length + bytes.length);
    joined.set(this.#bytes);
    joined.set(bytes, this.#bytes.length);
    this.#bytes = joined;
    const frames: WholeFrame[] = [];
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) {
      frames.push(frame);
    }
    return frames;
  }

  #next(): WholeFrame | undefined {
    const bytes = this.#bytes;
    const [first, second] = bytes;
    if (first === undefined || second === undefined) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const short = second & 0x7f;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const maskBytes = second >= 0x80 ? 4 : 0;
    const start = 2 + lengthBytes + maskBytes;
    if (bytes.length < start) return undefined;
    const length = lengthBytes === 8
      ? Number(view.getBigUint64(2))
      : lengthBytes === 2
      ? view.getUint16(2)
      : short;
    if (bytes.length < start + length) return undefined;
    const mask = bytes.subarray(start - maskBytes, start);
    const payload = bytes.slice(start, start + length);
    if (maskBytes > 0) {
      payload.forEach((byte, at) => payload[at] = byte ^ (mask[at & 3] ?? 0));
    }
    this.#bytes = bytes.slice(start + length);
    return { opcode: first & 0x0f, payload: latin1Text(payload) };
  }
}
