/**
 * A client that sends exactly the bytes it is told to.
 *
 * Invariant: reading is bounded in time, so a test that waits for what never
 * comes fails instead of hanging.
 *
 * @module
 */

/** Milliseconds to wait for an answer, unless told otherwise. */
const WAIT_MS = 5_000;

const encoder = new TextEncoder();

/** One connection to the gateway. */
export class RawClient implements Disposable {
  readonly #conn: Deno.TcpConn;
  #received = "";
  #isClosed = false;

  private constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  static async connect(port: number): Promise<RawClient> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new RawClient(conn);
  }

  /** Sends text as latin-1, or bytes as they are. */
  async send(data: string | Uint8Array): Promise<void> {
    const bytes = typeof data === "string"
      ? Uint8Array.from(data, (char) => char.charCodeAt(0))
      : data;
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
      for (const byte of buffer.subarray(0, count)) {
        this.#received += String.fromCharCode(byte);
      }
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

/** A request with a JSON body, as text; extra header lines without CRLF. */
export function post(
  target: string,
  body: string,
  headers: readonly string[] = [],
): string {
  const lines = [
    `POST ${target} HTTP/1.1`,
    "Host: gateway",
    "Content-Type: application/json",
    `Content-Length: ${encoder.encode(body).length}`,
    ...headers,
  ];
  const raw = Array.from(
    encoder.encode(body),
    (byte) => String.fromCharCode(byte),
  ).join("");
  return `${lines.join("\r\n")}\r\n\r\n${raw}`;
}
