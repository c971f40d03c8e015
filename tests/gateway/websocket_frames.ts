/**
 * WebSocket frames byte by byte, for either side of a tunnel.
 *
 * Written from RFC 6455 on its own account, so that a mistake of the gateway's
 * codec is not made twice. Text is latin-1, one character a byte.
 *
 * Invariant: every wait is bounded.
 *
 * @module
 */
import type { Peer } from "../scripted_server.ts";
import { within } from "./websocket_side.ts";

/** A frame as it came. */
export interface RawFrame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly isMasked: boolean;
  readonly payload: string;
}

/** What a frame is made of besides its payload. */
export interface FrameOptions {
  readonly opcode: number;
  /** True unless given. */
  readonly isFinal?: boolean;
  /** Whether it comes from a client. */
  readonly isMasked?: boolean;
}

/** A frame; its mask is not random, which nobody can see. */
export function frame(
  options: FrameOptions,
  payload: string | Uint8Array = "",
): Uint8Array {
  const { opcode, isFinal = true, isMasked = false } = options;
  const bytes = typeof payload === "string"
    ? Uint8Array.from(payload, (char) => char.charCodeAt(0))
    : payload;
  const { length } = bytes;
  const head = [(isFinal ? 0x80 : 0) | opcode];
  const bit = isMasked ? 0x80 : 0;
  if (length < 126) head.push(bit | length);
  else if (length < 65_536) head.push(bit | 126, length >> 8, length & 255);
  else {
    head.push(bit | 127, 0, 0, 0, 0);
    for (const shift of [24, 16, 8, 0]) head.push((length >>> shift) & 255);
  }
  const mask = [1, 2, 3, 4];
  if (isMasked) head.push(...mask);
  const out = new Uint8Array(head.length + length);
  out.set(head);
  bytes.forEach((byte, i) =>
    out[head.length + i] = isMasked ? byte ^ (mask[i & 3] ?? 0) : byte
  );
  return out;
}

/** A close frame's payload. */
export function closing(code: number, reason = ""): string {
  return String.fromCharCode(code >> 8, code & 255) + reason;
}

/** The whole frames at the start of `text`. */
function framesIn(text: string): RawFrame[] {
  const frames: RawFrame[] = [];
  const byte = (at: number) => text.charCodeAt(at);
  for (let at = 0; at + 2 <= text.length;) {
    const [first, second] = [byte(at), byte(at + 1)];
    let length = second & 0x7f;
    let body = at + 2;
    if (length >= 126) {
      const size = length === 126 ? 2 : 8;
      length = 0;
      for (let i = 0; i < size; i++) length = length * 256 + byte(body + i);
      body += size;
    }
    const isMasked = second >= 0x80;
    const mask = body;
    if (isMasked) body += 4;
    if (Number.isNaN(length) || body + length > text.length) break;
    const payload = Array.from(
      text.slice(body, body + length),
      (char, i) =>
        isMasked
          ? String.fromCharCode(char.charCodeAt(0) ^ byte(mask + i % 4))
          : char,
    ).join("");
    const [opcode, isFinal] = [first & 15, first >= 0x80];
    frames.push({ opcode, isFinal, isMasked, payload });
    at = body + length;
  }
  return frames;
}

/**
 * What runtimes call latin-1 is windows-1252, which shows some bytes as other
 * characters: each character back to its byte.
 */
const BYTE_OF: ReadonlyMap<string, string> = new Map(
  Array.from({ length: 256 }, (_, byte) => [
    new TextDecoder("latin1").decode(Uint8Array.of(byte)),
    String.fromCharCode(byte),
  ]),
);

/** Reads until `count` frames are there, behind a head if one comes first. */
export async function framesAt(peer: Peer, count: number): Promise<RawFrame[]> {
  for (;;) {
    const text = Array.from(
      peer.received,
      (char) => BYTE_OF.get(char) ?? char,
    ).join("");
    const isHeaded = text.startsWith("HTTP/1.1");
    const headEnd = text.indexOf("\r\n\r\n");
    const start = isHeaded ? headEnd + 4 : 0;
    const frames = isHeaded && headEnd < 0 ? [] : framesIn(text.slice(start));
    if (frames.length >= count) return frames;
    const isOpen = await within(peer.receive(), `frame ${frames.length + 1}`);
    if (!isOpen) return frames;
  }
}
