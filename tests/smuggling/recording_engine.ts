/**
 * An engine that keeps every byte it is sent, and answers what it can read.
 *
 * Invariant: nothing is forgotten, so that the judge sees what any engine would
 * have seen, not what this one made of it.
 *
 * @module
 */
import { latin1Text } from "../gateway/raw_client.ts";
import { readStrictly } from "./strict_requests.ts";

const OK = new TextEncoder().encode(
  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
);

/** Listens on loopback until it is disposed of. */
export class RecordingEngine implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #conns: Deno.TcpConn[] = [];
  readonly #texts: string[] = [];
  readonly #accepting = this.#accept();
  readonly #served: Promise<void>[] = [];

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  /** All that has come, by connection. */
  get texts(): readonly string[] {
    return this.#texts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#accepting;
    for (const conn of this.#conns) close(conn);
    await Promise.all(this.#served);
  }

  async #accept(): Promise<void> {
    for await (const conn of this.#listener) {
      this.#conns.push(conn);
      this.#served.push(this.#serve(conn, this.#texts.push("") - 1));
    }
  }

  async #serve(conn: Deno.TcpConn, index: number): Promise<void> {
    const buffer = new Uint8Array(65_536);
    let answered = 0;
    try {
      for (;;) {
        const count = await conn.read(buffer);
        if (count === null) break;
        this.#texts[index] += latin1Text(buffer.subarray(0, count));
        const { requests } = readStrictly(this.#texts[index] ?? "");
        for (; answered < requests.length; answered++) await conn.write(OK);
      }
    } catch {
      // A connection that is reset ends the record of it, as an end does.
    }
    close(conn);
  }
}

function close(conn: Deno.TcpConn): void {
  try {
    conn.close();
  } catch {
    // It is closed already.
  }
}
