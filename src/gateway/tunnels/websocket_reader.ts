/**
 * Reads an engine's WebSocket frames from bytes as they come (RFC 6455, 5).
 *
 * Fragments are put together, since the listener's side sends whole messages
 * only. A message that lies within one read is handed over without a copy.
 *
 * Invariant: how the bytes were split into reads never changes the result, and
 * what is held never exceeds one message and one control frame. Lengths are
 * checked before a byte of them is held.
 *
 * @module
 */
import { type Close, CLOSE_CODE, readClose } from "./websocket_close.ts";
import { FrameError, OPCODE } from "./websocket_frame.ts";

/** Takes what has been read. */
export interface FrameSink {
  /** Text, or bytes that are good until the call returns. */
  onMessage(data: string | Uint8Array, byteCount: number): void;
  /** The payload is good until the call returns. */
  onPing(payload: Uint8Array): void;
  /** The last call: nothing behind it is read. */
  onClose(close: Close): void;
}

/** 2 bytes, a length of 8 and no mask. */
const HEAD_BYTES_MAX = 10;

/** RFC 6455, 5.5. */
const CONTROL_BYTES_MAX = 125;

/** The frame whose payload is being read. */
interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  left: number;
}

/** Reads the frames of one connection. */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #messageBytesMax: number;
  readonly #decoder = new TextDecoder("utf-8", {
    fatal: true,
    ignoreBOM: true,
  });
  readonly #head = new Uint8Array(HEAD_BYTES_MAX);
  #headLength = 0;
  #frame: Frame | undefined;
  /** Opcode of the message that is under way, 0 between two. */
  #message = 0;
  #messageBytes = 0;
  /** What has come of the message, and of a control frame within it. */
  readonly #held = new HeldBytes();
  readonly #heldControl = new HeldBytes();
  #isOver = false;

  constructor(sink: FrameSink, messageBytesMax: number) {
    this.#sink = sink;
    this.#messageBytesMax = messageBytesMax;
  }

  /**
   * Takes the next bytes, which are the caller's again afterwards.
   *
   * @throws {FrameError} With which nothing more may be pushed.
   */
  push(bytes: Uint8Array): void {
    let at = 0;
    while (!this.#isOver) {
      if (this.#frame === undefined) {
        at = this.#readHead(bytes, at);
        if (this.#frame === undefined) return;
      }
      const frame = this.#frame;
      const end = Math.min(bytes.length, at + frame.left);
      frame.left -= end - at;
      const part = bytes.subarray(at, end);
      at = end;
      const isWhole = frame.left === 0;
      if (isWhole) this.#frame = undefined;
      if (isControl(frame.opcode)) {
        if (isWhole) this.#endControl(frame.opcode, part);
        else this.#heldControl.add(part);
      } else this.#takeData(frame, isWhole, part);
      if (!isWhole) return;
    }
  }

  /** Takes bytes of a head up to its end; sets `#frame` when it is whole. */
  #readHead(bytes: Uint8Array, start: number): number {
    for (let at = start; at < bytes.length;) {
      this.#head[this.#headLength++] = bytes[at++] ?? 0;
      if (this.#headLength < 2) continue;
      const [first = 0, second = 0] = this.#head;
      if (this.#headLength === 2) this.#checkBits(first, second);
      if (this.#headLength < 2 + lengthBytes(second)) continue;
      this.#headLength = 0;
      const opcode = first & 0x0f;
      const left = this.#payloadLength(second);
      if (!isControl(opcode)) this.#countBytes(left);
      if (opcode === OPCODE.text || opcode === OPCODE.binary) {
        this.#message = opcode;
      }
      this.#frame = { opcode, isFinal: first >= 0x80, left };
      return at;
    }
    return bytes.length;
  }

  #checkBits(first: number, second: number): void {
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0) broken("a reserved bit is set");
    if ((second & 0x80) !== 0) broken("it is masked by a server");
    if (isControl(opcode)) {
      if (opcode > OPCODE.pong) broken("its opcode is unknown");
      if (first < 0x80) broken("a control frame is fragmented");
      if ((second & 0x7f) > CONTROL_BYTES_MAX) {
        broken("a control frame is long");
      }
    } else if (opcode > OPCODE.binary) broken("its opcode is unknown");
    else if ((opcode === OPCODE.continuation) !== (this.#message !== 0)) {
      broken("it is out of step with its message");
    }
  }

  #payloadLength(second: number): number {
    const short = second & 0x7f;
    const view = new DataView(this.#head.buffer);
    if (short < 126) return short;
    if (short === 126) {
      const length = view.getUint16(2);
      if (length < 126) broken("its length is not the shortest form");
      return length;
    }
    const high = view.getUint32(2);
    if (high >= 0x80000000) broken("its length is over 63 bits");
    const length = high * 0x100000000 + view.getUint32(6);
    if (length <= 0xffff) broken("its length is not the shortest form");
    return length;
  }

  #countBytes(byteCount: number): void {
    this.#messageBytes += byteCount;
    if (this.#messageBytes <= this.#messageBytesMax) return;
    throw new FrameError(
      CLOSE_CODE.tooBig,
      `Cannot accept a message of ${this.#messageBytes} bytes: ` +
        `at most ${this.#messageBytesMax}`,
    );
  }

  #endControl(opcode: number, part: Uint8Array): void {
    const payload = this.#heldControl.takeWith(part);
    if (opcode === OPCODE.ping) this.#sink.onPing(payload);
    else if (opcode === OPCODE.close) {
      this.#isOver = true;
      this.#sink.onClose(readClose(payload));
    }
  }

  #takeData(frame: Frame, isWhole: boolean, part: Uint8Array): void {
    if (!isWhole || !frame.isFinal) {
      this.#held.add(part);
      return;
    }
    const bytes = this.#held.takeWith(part);
    const isText = this.#message === OPCODE.text;
    this.#message = 0;
    this.#messageBytes = 0;
    this.#sink.onMessage(isText ? this.#text(bytes) : bytes, bytes.length);
  }

  #text(bytes: Uint8Array): string {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      const { invalidData } = CLOSE_CODE;
      throw new FrameError(invalidData, "Cannot decode a message as UTF-8");
    }
  }
}

function broken(what: string): never {
  throw new FrameError(
    CLOSE_CODE.protocolError,
    `Cannot read a frame: ${what}`,
  );
}

function isControl(opcode: number): boolean {
  return opcode >= OPCODE.close;
}

/** How many bytes of length follow the second byte. */
function lengthBytes(second: number): number {
  const short = second & 0x7f;
  return short < 126 ? 0 : short === 126 ? 2 : 8;
}

/**
 * Bytes put together from parts. One piece of memory that doubles, since a
 * message may come in as many fragments as it has bytes.
 */
class HeldBytes {
  #bytes = new Uint8Array(0);
  #length = 0;

  add(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(part, this.#length);
    this.#length = length;
  }

  /** All bytes, `last` at the end; holds none afterwards. */
  takeWith(last: Uint8Array): Uint8Array {
    if (this.#length === 0) return last;
    this.add(last);
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
    return bytes;
  }
}
