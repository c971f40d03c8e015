/**
 * One connection of a load, which takes one answer after another.
 *
 * Invariant: an answer counts only when all of the body that its length states
 * has come; a connection that ends earlier rejects.
 *
 * @module
 */

/** Longer silence than this is a failure of the measurement. */
const SILENCE_MS = 30_000;

/** One answer. */
export interface Answer {
  readonly status: number;
  /** The head as text, names in lower case. */
  readonly head: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");

/** A keep-alive connection. */
export class Wire implements Disposable {
  readonly #conn: Deno.TcpConn;
  readonly #buffer = new Uint8Array(65_536);
  #isOpen = true;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  static async connect(port: number): Promise<Wire> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new Wire(conn);
  }

  async send(text: string): Promise<void> {
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length;) {
      at += await this.#conn.write(bytes.subarray(at));
    }
  }

  /** Reads some bytes as text; `undefined` at the end of the connection. */
  async receive(): Promise<string | undefined> {
    const timer = setTimeout(() => this.close(), SILENCE_MS);
    try {
      const count = await this.#conn.read(this.#buffer);
      if (count === null) return undefined;
      return decoder.decode(this.#buffer.subarray(0, count));
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request and reads its answer, which has a Content-Length. */
  async exchange(request: string): Promise<Answer> {
    await this.send(request);
    let text = "";
    for (;;) {
      const piece = await this.receive();
      if (piece === undefined) {
        throw new Error("Cannot read an answer: the connection has ended");
      }
      text += piece;
      const headEnd = text.indexOf("\r\n\r\n");
      if (headEnd < 0) continue;
      const head = text.slice(0, headEnd).toLowerCase();
      const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? NaN);
      if (Number.isNaN(length)) {
        throw new Error("Cannot read an answer without Content-Length");
      }
      if (text.length < headEnd + 4 + length) continue;
      return { status: Number(head.slice(9, 12)), head };
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#conn.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A request as text. */
export function requestText(
  method: string,
  target: string,
  options: { readonly lines?: readonly string[]; readonly body?: string } = {},
): string {
  const { lines = [], body } = options;
  return [
    `${method} ${target} HTTP/1.1`,
    "host: gateway",
    ...lines,
    ...body === undefined ? [] : [
      "content-type: application/json",
      `content-length: ${encoder.encode(body).length}`,
    ],
    `\r\n${body ?? ""}`,
  ].join("\r\n");
}
