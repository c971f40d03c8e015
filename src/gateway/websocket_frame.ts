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

/** A final frame, masked; `payload` is left as it is. */
export function maskedFrame(
  { opcode, payload, mask }: FrameParts,
): Uint8Array<ArrayBuffer> {
  const { length } = payload;
  const extendedBytes = length <= SHORT_BYTES_MAX
    ? 0
    : length <= 0xffff
    ? 2
    : 8;
  const headBytes = 2 + extendedBytes + 4;
  // The payload begins on a word, so that four bytes are masked at once.
  const payloadAt = (headBytes + 3) & ~3;
  const start = payloadAt - headBytes;
  const buffer = new ArrayBuffer((payloadAt + length + 3) & ~3);
  const view = new DataView(buffer, start);
  view.setUint8(0, FINAL_BIT | opcode);
  if (extendedBytes === 0) view.setUint8(1, MASK_BIT | length);
  else if (extendedBytes === 2) {
    view.setUint8(1, MASK_BIT | LENGTH_16);
    view.setUint16(2, length);
  } else {
    view.setUint8(1, MASK_BIT | LENGTH_64);
    view.setBigUint64(2, BigInt(length));
  }
  view.setUint32(2 + extendedBytes, mask);
  const bytes = new Uint8Array(buffer);
  bytes.set(payload, payloadAt);
  // The mask as it lies in memory, whatever the machine's order of bytes.
  const [word = 0] = new Uint32Array(buffer.slice(payloadAt - 4, payloadAt));
  const words = new Uint32Array(buffer, payloadAt);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] ?? 0) ^ word;
  return bytes.subarray(start, payloadAt + length);
}
