/**
 * How a WebSocket says that it ends (RFC 6455, 5.5.1 and 7.4).
 *
 * Invariant: codes that must not appear on the wire (1005, 1006, 1015) are
 * never sent and never accepted; "no code" stays "no code" all the way through.
 *
 * @module
 */
import { FrameError } from "./websocket_frame.ts";

/** A close with its code; `undefined` is one without any (1005). */
export interface Close {
  readonly code: number | undefined;
  /** At most 123 bytes of UTF-8. */
  readonly reason: string;
}

/** Codes the gateway closes with itself (RFC 6455, 7.4.1; IANA registry). */
export const CLOSE_CODE = {
  /** The other side has vanished, or the gateway stops. */
  goingAway: 1001,
  protocolError: 1002,
  /** Text that is not UTF-8. */
  invalidData: 1007,
  tooBig: 1009,
  /**
   * The endpoint broke the protocol or a limit. 1014 would say so more
   * closely, but there are clients that take it for an error of ours.
   */
  internalError: 1011,
  /** The endpoint takes less than the client sends. */
  tryAgainLater: 1013,
} as const;

const encoder = new TextEncoder();

/** The payload of a close frame. */
export function closePayload({ code, reason }: Close): Uint8Array {
  if (code === undefined) return new Uint8Array(0);
  const text = encoder.encode(reason);
  const payload = new Uint8Array(2 + text.length);
  payload[0] = code >>> 8;
  payload[1] = code & 0xff;
  payload.set(text, 2);
  return payload;
}

/**
 * What a close frame's payload says.
 *
 * @throws {FrameError} 1002 for a code that may not be sent or a cut one, 1007
 * for a reason that is not UTF-8.
 */
export function readClose(payload: Uint8Array): Close {
  if (payload.length === 0) return { code: undefined, reason: "" };
  const code = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
  if (payload.length === 1 || !maySend(code)) {
    const { protocolError } = CLOSE_CODE;
    throw new FrameError(protocolError, `Cannot accept close code ${code}`);
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { code, reason: decoder.decode(payload.subarray(2)) };
  } catch {
    const { invalidData } = CLOSE_CODE;
    throw new FrameError(invalidData, "Cannot decode a close reason as UTF-8");
  }
}

/** RFC 6455, 7.4.2, and the codes registered since. */
function maySend(code: number): boolean {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
    (code >= 3000 && code <= 4999);
}
