/**
 * Bytes of one connection, as the client sent them.
 *
 * Invariant: at most one read is under way, and the bytes it brings are seen
 * by the next `fill()`, whoever began the read.
 *
 * @module
 */

/** 16 KiB holds a usual request in one read. */
const BUFFER_BYTES = 16 * 1024;

/** Most bytes of a head, as most servers have it. */
const HEAD_BYTES_MAX = 64 * 1024;

const CR = 13;
const LF = 10;

/** The bytes a client sends. */
export class ByteReader {
  readonly #conn: Deno.Conn;
  #buffer = new Uint8Array(BUFFER_BYTES);
  #start = 0;
  #end = 0;
  #pending: Promise<number | null> | undefined;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  /** The bytes that are read and not consumed; valid until the next call. */
  get buffered(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Drops the first `count` buffered bytes. */
  consume(count: number): void {
    this.#start += count;
    if (this.#start === this.#end && this.#pending === undefined) {
      this.#start = 0;
      this.#end = 0;
    }
  }

  /** Reads at least one more byte; false at the end. */
  async fill(): Promise<boolean> {
    const count = await (this.#pending ?? this.#read());
    this.#pending = undefined;
    if (count === null) return false;
    this.#end += count;
    return true;
  }

  /**
   * Calls `onClosed` when the client closes before it sends another byte.
   *
   * Does nothing while bytes are buffered: they are the next request, and the
   * client is plainly there.
   */
  watch(onClosed: () => void): void {
    if (this.#pending !== undefined || this.#start < this.#end) return;
    this.#pending = this.#read();
    this.#pending.then((count) => {
      if (count === null) onClosed();
    }, onClosed);
  }

  #read(): Promise<number | null> {
    if (this.#end === this.#buffer.length) this.#makeRoom();
    return this.#conn.read(this.#buffer.subarray(this.#end));
  }

  #makeRoom(): void {
    const kept = this.buffered;
    const isCramped = kept.length > this.#buffer.length / 2;
    const room = isCramped
      ? new Uint8Array(this.#buffer.length * 2)
      : this.#buffer;
    room.set(kept);
    this.#buffer = room;
    this.#start = 0;
    this.#end = kept.length;
  }
}

/**
 * Reads up to the empty line that ends a head and consumes it.
 *
 * @returns The head with its terminator, or `undefined` at the end.
 * @throws {Error} when the head is too long or cut off.
 */
export async function readHead(
  reader: ByteReader,
): Promise<Uint8Array | undefined> {
  if (reader.buffered.length === 0 && !await reader.fill()) return undefined;
  for (let searched = 0;;) {
    const bytes = reader.buffered;
    const end = headEnd(bytes, searched);
    if (end > 0) {
      const head = bytes.slice(0, end);
      reader.consume(end);
      return head;
    }
    if (bytes.length > HEAD_BYTES_MAX) {
      throw new Error(
        `Cannot read a head of more than ${HEAD_BYTES_MAX} bytes`,
      );
    }
    searched = Math.max(0, bytes.length - 3);
    if (!await reader.fill()) {
      throw new Error("Cannot read the head: the client closed inside it");
    }
  }
}

/** Where the head ends, or 0. */
function headEnd(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(LF, from);
  while (at >= 0) {
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
    at = bytes.indexOf(LF, at + 1);
  }
  return 0;
}
