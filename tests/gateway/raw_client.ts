/**
 * A client that sends exactly the bytes it is told to.
 *
 * Text is latin-1 in both directions, one character a byte, so that what went
 * over the wire can be compared whatever it is.
 *
 * Invariant: reading is bounded in time, so a test that waits for what never
 * comes fails instead of hanging.
 *
 * @module
 */
import { parseReply, type Reply } from "./reply.ts";

/** Milliseconds to wait for an answer, unless told otherwise. */
const WAIT_MS = 5_000;

/** Longest piece of text made in one call, for the stack's sake. */
const TEXT_PIECE_BYTES = 8_192;

/** One connection to the gateway. */
export class RawClient implements Disposable {
  readonly #conn: Deno.Conn;
  #received = "";
  #isClosed = false;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  static async connect(port: number): Promise<RawClient> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new RawClient(conn);
  }

  /** Connects by TLS and HTTP/1.1, to a certificate of loopback. */
  static async connectTls(
    port: number,
    caCerts: string[],
  ): Promise<RawClient> {
    const conn = await Deno.connectTls({
      hostname: "127.0.0.1",
      port,
      caCerts,
      alpnProtocols: ["http/1.1"],
    });
    await conn.handshake();
    return new RawClient(conn);
  }

  /** Sends text as latin-1, or bytes as they are. */
  async send(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string" ? latin1Bytes(data) : data;
    for (let at = 0; at < bytes.length;) {
      at += await this.#conn.write(bytes.subarray(at));
    }
  }

  /**
   * Reads until what has come, as latin-1, matches; resolves to all of it.
   *
   * @throws {Error} when the wait is over or the connection ends first.
   */
  async until(pattern: RegExp, waitMs = WAIT_MS): Promise<string> {
    while (!pattern.test(this.#received)) {
      if (!await this.#readMore(waitMs)) {
        throw new Error(
          `Cannot find ${pattern} in what came before the end: ${
            JSON.stringify(this.#received.slice(0, 2_000))
          }`,
        );
      }
    }
    return this.#received;
  }

  /**
   * Reads one answer to its end, or to the end of the connection; what comes
   * behind it is kept for the next call.
   */
  async reply(
    options: {
      readonly isHead?: boolean;
      readonly waitMs?: number;
      /** Called whenever some of it has come. */
      readonly onBytes?: () => void;
    } = {},
  ): Promise<Reply> {
    const isHead = options.isHead ?? false;
    for (;;) {
      const parsed = parseReply(this.#received, isHead);
      if (parsed?.reply.isWhole === true) {
        this.#received = this.#received.slice(parsed.end);
        return parsed.reply;
      }
      if (await this.#readMore(options.waitMs ?? WAIT_MS)) {
        options.onBytes?.();
        continue;
      }
      if (parsed !== undefined) return parsed.reply;
      throw new Error(
        `Cannot read an answer: the connection ended after ${
          JSON.stringify(this.#received.slice(0, 2_000))
        }`,
      );
    }
  }

  /** Reads until the connection ends; resolves to all that came. */
  async toEnd(waitMs = WAIT_MS): Promise<string> {
    while (await this.#readMore(waitMs));
    return this.#received;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#conn.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** False at the end of the connection. */
  async #readMore(waitMs: number): Promise<boolean> {
    const buffer = new Uint8Array(65_536);
    const timer = setTimeout(() => this.close(), waitMs);
    try {
      const count = await this.#conn.read(buffer);
      if (count === null) return false;
      this.#received += latin1Text(buffer.subarray(0, count));
      return true;
    } catch (error) {
      if (this.#isClosed) {
        throw new Error(
          `Cannot wait longer than ${waitMs} ms; came so far: ${
            JSON.stringify(this.#received.slice(0, 2_000))
          }`,
          { cause: error },
        );
      }
      // A reset is an end too.
      return false;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Sends one request on a connection of its own and reads the answer. */
export async function call(
  port: number,
  request: string | Uint8Array,
): Promise<Reply> {
  using client = await RawClient.connect(port);
  await client.send(request);
  const isHead = typeof request === "string" && request.startsWith("HEAD ");
  return await client.reply({ isHead });
}

/** Bytes as text, one character each. */
export function latin1Text(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += TEXT_PIECE_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + TEXT_PIECE_BYTES));
  }
  return text;
}

function latin1Bytes(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
