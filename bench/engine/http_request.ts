/**
 * The request side of a small HTTP/1.1 server (RFC 9112).
 *
 * Everything is kept as it came, since tests ask what exactly reached the
 * engine. Only what framing needs is understood.
 *
 * Invariant: body bytes are handed over once and in order, without the
 * framing, and a body that ends early is an error.
 *
 * @module
 */
import type { ByteReader } from "./byte_reader.ts";

/** A request head as received. */
export interface RequestHead {
  readonly method: string;
  /** Target as received, byte for byte (latin-1). */
  readonly target: string;
  /** Field lines as received, in order, without their line ends (latin-1). */
  readonly headerLines: readonly string[];
  /** First value of each field by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
}

/** How a body is to be read. */
export interface BodyReading {
  /** Called with each piece; the bytes are only valid during the call. */
  readonly onBytes: (bytes: Uint8Array) => void;
  /** Called before each read from the connection. */
  readonly beforeRead?: () => Promise<void>;
}

/** Longest piece of text made in one call, for the stack's sake. */
const TEXT_PIECE_BYTES = 8192;

/** Parses a head; `undefined` when its first line is no request line. */
export function parseHead(bytes: Uint8Array): RequestHead | undefined {
  let text = "";
  for (let at = 0; at < bytes.length; at += TEXT_PIECE_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + TEXT_PIECE_BYTES));
  }
  const lines = text.trimEnd().split("\r\n");
  const requestLine = lines.shift() ?? "";
  const match = /^(\S+) (\S.*) HTTP\/1\.[01]$/.exec(requestLine);
  const [, method, target] = match ?? [];
  if (method === undefined || target === undefined) return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { method, target, headerLines: lines, headers };
}

/** Whether a body follows the head (RFC 9112, section 6). */
export function hasBody(head: RequestHead): boolean {
  const length = head.headers.get("content-length");
  return head.headers.has("transfer-encoding") ||
    (length !== undefined && length !== "0");
}

/** Reads the body that follows `head`, if any. */
export async function readBody(
  reader: ByteReader,
  head: RequestHead,
  reading: BodyReading,
): Promise<void> {
  const coding = head.headers.get("transfer-encoding");
  if (coding !== undefined) {
    if (coding.toLowerCase() !== "chunked") {
      throw new Error(`Cannot read a body in transfer coding "${coding}"`);
    }
    return await readChunks(reader, reading);
  }
  const length = head.headers.get("content-length") ?? "0";
  if (!/^\d{1,15}$/.test(length)) {
    throw new Error(`Cannot read a body of content length "${length}"`);
  }
  await readExactly(reader, Number(length), reading);
}

/** Reads the chunked coding (RFC 9112, section 7.1). */
async function readChunks(
  reader: ByteReader,
  reading: BodyReading,
): Promise<void> {
  for (;;) {
    const line = await readLine(reader, reading);
    const size = /^([0-9a-fA-F]{1,8})(?:[ \t]*;.*)?$/.exec(line)?.[1];
    if (size === undefined) {
      throw new Error(`Cannot parse the chunk size "${line}"`);
    }
    const byteCount = parseInt(size, 16);
    if (byteCount === 0) break;
    await readExactly(reader, byteCount, reading);
    if (await readLine(reader, reading) !== "") {
      throw new Error("Cannot find the line end after a chunk");
    }
  }
  // Trailers are read and dropped, up to the empty line.
  while (await readLine(reader, reading) !== "");
}

async function readExactly(
  reader: ByteReader,
  byteCount: number,
  reading: BodyReading,
): Promise<void> {
  let left = byteCount;
  while (left > 0) {
    if (reader.buffered.length === 0) await readMore(reader, reading);
    const bytes = reader.buffered.subarray(0, left);
    reading.onBytes(bytes);
    left -= bytes.length;
    reader.consume(bytes.length);
  }
}

/** Reads a line, without its end. */
async function readLine(
  reader: ByteReader,
  reading: BodyReading,
): Promise<string> {
  // 8 KiB: chunk extensions and trailers are short where they occur at all.
  const lineBytesMax = 8192;
  for (;;) {
    const bytes = reader.buffered;
    const end = bytes.indexOf(10);
    if (end > 0 && bytes[end - 1] === 13) {
      const line = String.fromCharCode(...bytes.subarray(0, end - 1));
      reader.consume(end + 1);
      return line;
    }
    if (end >= 0 || bytes.length > lineBytesMax) {
      throw new Error("Cannot read a line of the chunked coding");
    }
    await readMore(reader, reading);
  }
}

async function readMore(
  reader: ByteReader,
  reading: BodyReading,
): Promise<void> {
  await reading.beforeRead?.();
  if (!await reader.fill()) {
    throw new Error("Cannot read the body: the client closed inside it");
  }
}
