/**
 * The engine's side of a tunnel: a WebSocket over the socket that the engine
 * has upgraded (RFC 6455).
 *
 * The runtime's own WebSocket client cannot take part in a handshake whose
 * refusal has to reach the client, rewrites targets, knows no unix sockets,
 * reads as fast as the engine sends, and leaves Nagle's algorithm on, so that
 * a message of some KiB waits for 40 ms; so the protocol is spoken here.
 *
 * Invariant: however it ends, `onEngineEnd` comes at most once, unless this side
 * ended it; then `onEngineClosed` comes once, and the socket and the timer are gone.
 *
 * @module
 */
import type { Clock, Socket } from "../../core/outside.ts";
import { type Close, closePayload } from "./websocket_close.ts";
import { FrameError, maskedFrame, OPCODE } from "./websocket_frame.ts";
import { FrameReader, type FrameSink } from "./websocket_reader.ts";

/** 16 KiB a read, as for answers: some hundred tokens of a stream. */
const READ_BYTES = 16_384;

/** 64 KiB once a read has filled the small buffer, as for answers. */
const BULK_READ_BYTES = 65_536;

/**
 * 16 MiB: pictures and minutes of sound in base64 are below it. Messages are
 * held whole, so this bounds what one tunnel may hold each way.
 */
export const MESSAGE_BYTES_MAX = 16_777_216;

/** 16 MiB of messages that the engine has not taken; then it is full. */
const QUEUE_BYTES_MAX = 16_777_216;

/** What a queued frame costs besides its bytes, so that tiny ones count. */
const FRAME_CHARGE_BYTES = 128;

/** 5 s without progress: how long a close may take to be answered. */
const CLOSE_MS = 5_000;

/** 50 ms for a last close frame when there is nobody left to wait for. */
const ABANDON_MS = 50;

/**
 * 60 s of silence are met with a ping, and another 60 s with the end: a
 * machine that lost its power never closes, and its tunnels hold slots.
 */
const SILENCE_MS = 60_000;

/** How the engine ended a tunnel. */
export type EngineEnding =
  | { readonly kind: "closed"; readonly close: Close }
  /** The connection ended without a close. */
  | { readonly kind: "gone"; readonly cause: unknown }
  | { readonly kind: "silent" }
  | { readonly kind: "broken"; readonly error: FrameError };

/** Whoever an engine's end belongs to. */
export interface EngineEndOwner {
  /** Resolves once more can be taken; `undefined` when it can be now. */
  room(): Promise<void> | undefined;
  /** Bytes are good until the call returns. */
  onEngineMessage(data: string | Uint8Array, byteCount: number): void;
  onEngineEnd(ending: EngineEnding): void;
  /** The socket is closed. */
  onEngineClosed(): void;
}

/** What an engine's end is made of. */
export interface EngineEndParts {
  readonly clock: Clock;
  /** For masks. */
  readonly random: () => number;
  readonly owner: EngineEndOwner;
}

/** The engine's end of one tunnel. */
export class EngineEnd implements FrameSink {
  readonly #socket: Socket;
  readonly #parts: EngineEndParts;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #isWriting = false;
  #isWriteBroken = false;
  #writtenCount = 0;
  #cancelTimer: () => void = () => {};
  #isPaused = false;
  #hasHeard = true;
  #hasPinged = false;
  /** Whether the last frame, a close, has been queued. */
  #isClosing = false;
  #hasPeerClosed = false;
  #hasEnded = false;
  #isShut = false;

  constructor(socket: Socket, parts: EngineEndParts) {
    this.#socket = socket;
    this.#parts = parts;
  }

  /** Whether the engine takes less than it is sent; one more still fits. */
  get isFull(): boolean {
    return this.#queuedBytes >= QUEUE_BYTES_MAX;
  }

  /** Begins to read. */
  start(): void {
    this.#readAll();
    this.#watchSilence();
  }

  /** Queues a message. No effect once closing. */
  send(opcode: number, payload: Uint8Array): void {
    if (!this.#isClosing) this.#enqueue(opcode, payload);
  }

  /** Closes behind what is queued and waits for the engine's close. */
  close(close: Close): void {
    this.#hasEnded = true;
    this.#sendClose(close);
    if (this.#isShut) return;
    const { clock } = this.#parts;
    const before = this.#writtenCount;
    this.#cancelTimer();
    this.#cancelTimer = clock.after(CLOSE_MS, () => {
      if (this.#isWriting && this.#writtenCount > before) this.close(close);
      else this.shut();
    });
  }

  /** Closes at once, with a close frame if the engine takes it in time. */
  abandon(close: Close): void {
    this.#hasEnded = true;
    this.#hasPeerClosed = true;
    this.#sendClose(close);
    if (this.#isShut) return;
    this.#cancelTimer();
    this.#cancelTimer = this.#parts.clock.after(ABANDON_MS, () => this.shut());
  }

  /** Closes the socket. Idempotent. */
  shut(): void {
    if (this.#isShut) return;
    this.#isShut = true;
    this.#cancelTimer();
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#socket.close();
    this.#parts.owner.onEngineClosed();
  }

  onMessage(data: string | Uint8Array, byteCount: number): void {
    if (!this.#hasEnded) this.#parts.owner.onEngineMessage(data, byteCount);
  }

  onPing(payload: Uint8Array): void {
    // One who pings without reading is not owed an answer to each.
    if (!this.isFull) this.send(OPCODE.pong, payload);
  }

  onClose(close: Close): void {
    this.#hasPeerClosed = true;
    this.#end({ kind: "closed", close });
    this.close(close);
  }

  async #readAll(): Promise<void> {
    const reader = new FrameReader(this, MESSAGE_BYTES_MAX);
    let buffer = new Uint8Array(READ_BYTES);
    let isReadable = true;
    try {
      while (!this.#hasPeerClosed) {
        await this.#untilRoom();
        const count = await this.#socket.read(buffer);
        if (count === null) {
          this.#gone(undefined);
          return;
        }
        this.#hasHeard = true;
        // Behind a broken frame bytes are read for the closing's sake only.
        if (isReadable) {
          isReadable = this.#take(reader, buffer.subarray(0, count));
        }
        if (count === READ_BYTES && buffer.length === READ_BYTES) {
          buffer = new Uint8Array(BULK_READ_BYTES);
        }
      }
    } catch (cause) {
      this.#gone(cause);
    }
  }

  async #untilRoom(): Promise<void> {
    const room = this.#parts.owner.room();
    if (room === undefined) return;
    this.#isPaused = true;
    await room;
    this.#isPaused = false;
  }

  /** False when what came breaks the protocol or a limit. */
  #take(reader: FrameReader, bytes: Uint8Array): boolean {
    try {
      reader.push(bytes);
      return true;
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.#end({ kind: "broken", error });
      this.close({ code: error.code, reason: error.message });
      return false;
    }
  }

  #gone(cause: unknown): void {
    this.#end({ kind: "gone", cause });
    this.shut();
  }

  #end(ending: EngineEnding): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#parts.owner.onEngineEnd(ending);
  }

  #sendClose(close: Close): void {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#enqueue(OPCODE.close, closePayload(close));
    }
    this.#shutWhenDone();
  }

  #enqueue(opcode: number, payload: Uint8Array): void {
    if (this.#isShut || this.#isWriteBroken) return;
    const mask = Math.floor(this.#parts.random() * 2 ** 32);
    const frame = maskedFrame({ opcode, payload, mask });
    this.#queue.push(frame);
    this.#queuedBytes += frame.length + FRAME_CHARGE_BYTES;
    if (!this.#isWriting) this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    try {
      for (;;) {
        const frame = this.#queue.shift();
        if (frame === undefined) break;
        for (let at = 0; at < frame.length;) {
          const count = await this.#socket.write(frame.subarray(at));
          at += count;
          this.#writtenCount += count;
        }
        this.#queuedBytes -= frame.length + FRAME_CHARGE_BYTES;
      }
    } catch {
      // The engine takes no more; what it said last is still to be read.
      this.#isWriteBroken = true;
      this.#queue = [];
    }
    this.#isWriting = false;
    this.#shutWhenDone();
  }

  /** The end of a closing: both have said so and nothing is left to send. */
  #shutWhenDone(): void {
    if (this.#isClosing && this.#hasPeerClosed && !this.#isWriting) this.shut();
  }

  /** Pings a silent engine; one that does not answer is gone. */
  #watchSilence(): void {
    this.#cancelTimer = this.#parts.clock.after(SILENCE_MS, () => {
      if (this.#hasHeard || this.#isPaused) this.#hasPinged = false;
      else if (this.#hasPinged) {
        this.#end({ kind: "silent" });
        this.shut();
        return;
      } else {
        this.#hasPinged = true;
        this.send(OPCODE.ping, NO_BYTES);
      }
      this.#hasHeard = false;
      this.#watchSilence();
    });
  }
}

const NO_BYTES = new Uint8Array(0);
