/**
 * HTTP/2 frames as a client that keeps no rules writes them (RFC 9113, 4).
 *
 * Fields are written as literals that nobody indexes (RFC 7541, 6.2.2), so any
 * byte can stand in a name or a value, where a real client would refuse.
 *
 * Invariant: what is sent is what was asked for, byte for byte.
 *
 * @module
 */

/** Fields in the order in which they are written; text is latin-1. */
export type Fields = readonly (readonly [name: string, value: string])[];

/** How a stream ended. */
export type Outcome = "answered" | "refused" | "open";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7 } as const;

const FLAG = { ack: 1, endStream: 1, endHeaders: 4 } as const;

/** The client's first stream (RFC 9113, 5.1.1). */
const STREAM = 1;

const FRAME_HEAD_BYTES = 9;

/** The first byte of a field section that says 200, or 400, by index. */
const STATUS_400 = 0x8c;

/** The longest literal length that fits the first byte (RFC 7541, 5.1). */
const PREFIX_MAX = 126;

/** What one request over a connection of its own comes to. */
export async function askByHttp2(
  conn: Deno.Conn,
  request: { readonly fields: Fields; readonly body: string },
  waitMs: number,
): Promise<Outcome> {
  const { body, fields } = request;
  const flags = FLAG.endHeaders | (body === "" ? FLAG.endStream : 0);
  const pieces = [
    latin1(PREFACE),
    frame(TYPE.settings, 0, 0, new Uint8Array()),
    frame(TYPE.headers, flags, STREAM, fieldSection(fields)),
    ...(body === ""
      ? []
      : [frame(TYPE.data, FLAG.endStream, STREAM, latin1(body))]),
  ];
  const timer = setTimeout(() => close(conn), waitMs);
  try {
    for (const piece of pieces) await writeAll(conn, piece);
    return await outcomeOf(conn);
  } catch {
    // Closed by the server, or by the limit.
    return "open";
  } finally {
    clearTimeout(timer);
    close(conn);
  }
}

/** Reads frames until one says what has become of the stream. */
async function outcomeOf(conn: Deno.Conn): Promise<Outcome> {
  let received = new Uint8Array();
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const length = frameLength(received);
    if (length === undefined || received.length < length) {
      const count = await conn.read(buffer);
      if (count === null) return "refused";
      received = joined(received, buffer.subarray(0, count));
      continue;
    }
    const type = received[3];
    const flags = received[4] ?? 0;
    const status = received[FRAME_HEAD_BYTES];
    received = received.slice(length);
    if (type === TYPE.reset || type === TYPE.goAway) return "refused";
    if (type === TYPE.headers) {
      return status === STATUS_400 ? "refused" : "answered";
    }
    if (type === TYPE.settings && (flags & FLAG.ack) === 0) {
      await writeAll(conn, frame(TYPE.settings, FLAG.ack, 0, new Uint8Array()));
    }
  }
}

function frameLength(bytes: Uint8Array): number | undefined {
  if (bytes.length < FRAME_HEAD_BYTES) return undefined;
  const [high = 0, middle = 0, low = 0] = bytes;
  return FRAME_HEAD_BYTES + (high << 16 | middle << 8 | low);
}

function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array,
): Uint8Array {
  const { length } = payload;
  const head = [length >> 16, length >> 8, length, type, flags];
  return joined(Uint8Array.from([...head, 0, 0, 0, stream]), payload);
}

function fieldSection(fields: Fields): Uint8Array {
  return fields.reduce(
    (section, [name, value]) =>
      joined(section, Uint8Array.of(0), literal(name), literal(value)),
    new Uint8Array(),
  );
}

/** A string without Huffman coding (RFC 7541, 5.2). */
function literal(text: string): Uint8Array {
  const bytes = latin1(text);
  if (bytes.length <= PREFIX_MAX) {
    return joined(Uint8Array.of(bytes.length), bytes);
  }
  const length = [PREFIX_MAX + 1];
  let rest = bytes.length - PREFIX_MAX - 1;
  for (; rest >= 128; rest >>= 7) length.push(rest & 0x7f | 0x80);
  return joined(Uint8Array.from([...length, rest]), bytes);
}

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}

function joined(...pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  let at = 0;
  while (at < bytes.length) at += await conn.write(bytes.subarray(at));
}

function close(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch {
    // It is closed already.
  }
}
