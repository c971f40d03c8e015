/**
 * A raw TCP server that does exactly what a test tells it to.
 *
 * It speaks no HTTP of its own: a test reads what the client has sent byte by
 * byte, and answers with bytes, silence or a closed connection.
 *
 * Invariant: every accepted connection is counted, and all are closed at the
 * end of `using`.
 *
 * @module
 */
import type { Address } from "../src/core/outside.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");

/** One accepted connection, numbered from 0. */
export class Peer {
  readonly number: number;
  readonly #conn: Deno.TcpConn;
  #text = "";

  constructor(conn: Deno.TcpConn, number: number) {
    this.#conn = conn;
    this.number = number;
  }

  /** All that has been received and not been taken by `request()`. */
  get received(): string {
    return this.#text;
  }

  /** Sends text, as latin-1, or bytes. */
  async send(what: string | Uint8Array): Promise<void> {
    const bytes = typeof what === "string" ? encoder.encode(what) : what;
    let at = 0;
    while (at < bytes.length) at += await this.#conn.write(bytes.subarray(at));
  }

  /**
   * The next request: head, and the body that its framing states. Empty when
   * the client has closed before it was whole.
   */
  async request(): Promise<string> {
    while (true) {
      const end = requestEnd(this.#text);
      if (end >= 0) {
        const request = this.#text.slice(0, end);
        this.#text = this.#text.slice(end);
        return request;
      }
      if (!await this.receive()) return "";
    }
  }

  /** Receives some bytes; false at the end, clean or not. */
  async receive(): Promise<boolean> {
    const buffer = new Uint8Array(65_536);
    try {
      const count = await this.#conn.read(buffer);
      if (count === null) return false;
      this.#text += decoder.decode(buffer.subarray(0, count));
      return true;
    } catch {
      // A reset ends the connection as an end of stream does.
      return false;
    }
  }

  /** Reads and forgets until the client closes; resolves to the byte count. */
  async closed(): Promise<number> {
    const buffer = new Uint8Array(65_536);
    let total = 0;
    try {
      while (true) {
        const count = await this.#conn.read(buffer);
        if (count === null) return total;
        total += count;
      }
    } catch {
      // A reset ends the connection as an end of stream does.
      return total;
    }
  }

  close(): void {
    try {
      this.#conn.close();
    } catch {
      // The test has closed it already.
    }
  }
}

/** A listener on loopback that runs `play` for each connection. */
export class ScriptedServer implements AsyncDisposable {
  readonly peers: Peer[] = [];
  readonly #listener: Deno.TcpListener;
  readonly #played: Promise<void>[] = [];
  readonly #accepting: Promise<void>;

  constructor(play: (peer: Peer) => Promise<void>) {
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#accepting = this.#accept(play);
  }

  /** Where a client reaches it. */
  get address(): Address {
    const { hostname, port } = this.#listener.addr as Deno.NetAddr;
    return { kind: "tcp", hostname, port, tls: false };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const peer of this.peers) peer.close();
    await Promise.all(this.#played);
  }

  async #accept(play: (peer: Peer) => Promise<void>): Promise<void> {
    for await (const conn of this.#listener) {
      const peer = new Peer(conn, this.peers.length);
      this.peers.push(peer);
      // A script that is cut off at the end of its test has done its part.
      this.#played.push(play(peer).catch(() => {}));
    }
  }
}

/** Offset after the first request in `text`, or -1 while it is not whole. */
function requestEnd(text: string): number {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return -1;
  const head = text.slice(0, headEnd).toLowerCase();
  const bodyAt = headEnd + 4;
  if (head.includes("\r\ntransfer-encoding: chunked")) {
    const last = text.indexOf("0\r\n\r\n", bodyAt);
    return last < 0 ? -1 : last + 5;
  }
  const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0);
  return text.length >= bodyAt + length ? bodyAt + length : -1;
}
