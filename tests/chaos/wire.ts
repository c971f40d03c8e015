/**
 * One connection of a chaos client, which breaks without throwing.
 *
 * Invariant: a wait for bytes is bounded, and everything that a client must
 * tell apart has a name: bytes, the end of the connection, silence.
 *
 * @module
 */
import { parseReply, type Reply } from "../gateway/reply.ts";
import { latin1Text } from "../gateway/raw_client.ts";

/**
 * Milliseconds of silence that no request may show: over the sum of what the
 * gateway is configured to wait for, on a machine that is busy.
 */
const SILENCE_MS = 20_000;

const encoder = new TextEncoder();

/** What a wait for bytes came to. */
export type Arrival = "bytes" | "end" | "silence";

/** How reading an answer ended; `reply` as far as its head came. */
export interface Answered {
  readonly ending: "whole" | "end" | "silence";
  readonly reply: Reply | undefined;
}

/** One connection to the gateway. */
export class Wire implements Disposable {
  readonly #conn: Deno.TcpConn;
  readonly #buffer = new Uint8Array(65_536);
  #received = "";
  #fresh = new Uint8Array();
  #isOpen = true;

  constructor(conn: Deno.TcpConn) {
    this.#conn = conn;
  }

  static async connect(port: number): Promise<Wire> {
    const conn = await Deno.connect({ hostname: "127.0.0.1", port });
    conn.setNoDelay(true);
    return new Wire(conn);
  }

  /** What has come and was not taken by `answer()`, as latin-1. */
  get received(): string {
    return this.#received;
  }

  /** The bytes of the last arrival; good until the next. */
  get fresh(): Uint8Array {
    return this.#fresh;
  }

  /** Sends; false when the connection has ended, which may be seen late. */
  async send(data: string | Uint8Array): Promise<boolean> {
    const bytes = typeof data === "string" ? encoder.encode(data) : data;
    try {
      for (let at = 0; at < bytes.length;) {
        at += await this.#conn.write(bytes.subarray(at));
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Waits for some bytes. */
  async receive(): Promise<Arrival> {
    let isSilent = false;
    const timer = setTimeout(() => {
      isSilent = true;
      this.close();
    }, SILENCE_MS);
    try {
      const count = await this.#conn.read(this.#buffer);
      if (count === null) return "end";
      this.#fresh = this.#buffer.subarray(0, count);
      this.#received += latin1Text(this.#fresh);
      return "bytes";
    } catch {
      return isSilent ? "silence" : "end";
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Reads an answer to its end; what comes behind it is left for the next.
   *
   * @param isEnough Ends the reading early, with what has come.
   * @throws {Error} when it is not HTTP/1.1.
   */
  async answer(isEnough?: (text: string) => boolean): Promise<Answered> {
    for (;;) {
      const parsed = parseReply(this.#received, false);
      if (parsed?.reply.isWhole === true) {
        this.#received = this.#received.slice(parsed.end);
        return { ending: "whole", reply: parsed.reply };
      }
      if (isEnough?.(this.#received) === true) {
        return { ending: "end", reply: parsed?.reply };
      }
      const arrival = await this.receive();
      if (arrival === "bytes") continue;
      return { ending: arrival, reply: parsed?.reply };
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
