/**
 * One WebSocket frame as bytes, and what makes one unreadable (RFC 6455, 5).
 *
 * Tryst is the client of the engine, so what it sends is masked. The mask
 * comes from the same source of chance as everything else: it protects
 * intermediaries from what a browser's page says, and between a gateway and
 * its engines there are none.
 *
 * Invariant: a frame that is sent is whole, masked and of minimal length.
 *
 * @module
 */

/** Opcodes (RFC 6455, 5.2). */
export const OPCODE = {
  continuation: 0x0,
  text: 0x1,
  binary: 0x2,
  close: 0x8,
  ping: 0x9,
  pong: 0xa,
} as const;

/** The first byte's bit that says that a message ends here. */
const FINAL_BIT = 0x80;

/** The second byte's bit that says that a mask follows. */
const MASK_BIT = 0x80;

/** Lengths up to here stand in the second byte; beyond, in 2 or 8 more. */
const SHORT_BYTES_MAX = 125;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** A peer broke the protocol or a limit; `code` is what to close with. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What a frame to the engine is made of. */
export interface FrameParts {
  readonly opcode: number;
  readonly payload: Uint8Array;
  /** 32 random bits. */
  readonly mask: number;
}

/** The mask as it lies in memory, whatever the machine's order of bytes. */
const MASK_BYTES = new Uint8Array(4);
const MASK_WORD = new Uint32Array(MASK_BYTES.buffer);

/** A final frame, masked; `payload` is left as it is. */
export function maskedFrame(
  { opcode, payload, mask }: FrameParts,
): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  const lengthBytes = length <= SHORT_BYTES_MAX ? 0 : length <= 0xffff ? 2 : 8;
  const headBytes = 2 + lengthBytes + 4;
  // The payload begins on a word, so that four bytes are masked at once:
  // several times as fast as one by one.
  const payloadAt = (headBytes + 3) & ~3;
  const buffer = new ArrayBuffer((payloadAt + length + 3) & ~3);
  const bytes = new Uint8Array(buffer);
  const start = payloadAt - headBytes;
  bytes[start] = FINAL_BIT | opcode;
  bytes[start + 1] = MASK_BIT |
    (lengthBytes === 0 ? length : lengthBytes === 2 ? LENGTH_16 : LENGTH_64);
  // A payload in memory is below 2^32 bytes: higher bytes of 8 stay 0.
  for (let i = 0; i < lengthBytes && i < 4; i++) {
    bytes[start + 1 + lengthBytes - i] = length >>> (8 * i);
  }
  for (let i = 0; i < 4; i++) MASK_BYTES[i] = mask >>> (24 - 8 * i);
  bytes.set(MASK_BYTES, payloadAt - 4);
  bytes.set(payload, payloadAt);
  const [word = 0] = MASK_WORD;
  const words = new Uint32Array(buffer, payloadAt);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] ?? 0) ^ word;
  return bytes.subarray(start, payloadAt + length);
}
