/**
 * TLS that shows a certificate of its own, or verifies nothing.
 *
 * `Deno.startTls` can do neither, and `Deno.connectTls` knows no other name
 * for the certificate than the address; so these few connections are made with
 * `node:tls`, which costs more for each byte.
 *
 * Invariant: the peer is verified unless the endpoint is `insecure`, and a
 * connection that fails or is given up leaves nothing open.
 *
 * @module
 */
import { connect, type TLSSocket } from "node:tls";
import type { Socket, UpstreamTls } from "../core/outside.ts";

/** Where to, and how it is verified. */
export interface NodeTlsTarget {
  readonly hostname: string;
  readonly port: number;
  readonly trust: UpstreamTls;
}

/** Connects, and finishes the handshake. */
export async function connectNodeTls(
  { hostname, port, trust }: NodeTlsTarget,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  signal?.throwIfAborted();
  const [ca, cert, key] = await Promise.all(
    [trust.caFile, trust.certFile, trust.keyFile].map(readPem),
  );
  const stream = connect({
    host: hostname,
    port,
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: !trust.insecure,
    ...(trust.serverName === undefined ? {} : { servername: trust.serverName }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined || key === undefined ? {} : { cert, key }),
  });
  const socket = new NodeTlsSocket(stream);
  const giveUp = (): void => socket.close();
  signal?.addEventListener("abort", giveUp);
  try {
    await socket.secured;
    signal?.throwIfAborted();
    stream.setNoDelay(true);
    return socket;
  } catch (error) {
    giveUp();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

async function readPem(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : await Deno.readTextFile(path);
}

/** A TLS stream of Node read by pulling. */
class NodeTlsSocket implements Socket {
  /** Resolves when the handshake is over. */
  readonly secured: Promise<void>;
  readonly #stream: TLSSocket;
  readonly #broken = Promise.withResolvers<never>();
  #rest: Uint8Array | undefined;
  #isEnded = false;
  #error: Error | undefined;
  #wake: () => void = () => {};

  constructor(stream: TLSSocket) {
    this.#stream = stream;
    // Whoever reads or writes at that time is told; else nobody asks.
    this.#broken.promise.catch(() => {});
    stream.on("readable", () => this.#wake());
    stream.on("end", () => {
      this.#isEnded = true;
      this.#wake();
    });
    stream.on("error", (error: Error) => this.#break(error));
    stream.on("close", () => this.#break(new Error("The connection closed")));
    this.secured = Promise.race([
      new Promise<void>((resolve) => stream.once("secureConnect", resolve)),
      this.#broken.promise,
    ]);
  }

  async read(buffer: Uint8Array): Promise<number | null> {
    for (;;) {
      const chunk: Uint8Array | null = this.#rest ?? this.#stream.read();
      if (chunk !== null) {
        const count = Math.min(chunk.length, buffer.length);
        buffer.set(chunk.subarray(0, count));
        this.#rest = count < chunk.length ? chunk.subarray(count) : undefined;
        return count;
      }
      if (this.#isEnded) return null;
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  write(bytes: Uint8Array): Promise<number> {
    const written = new Promise<number>((resolve, reject) => {
      this.#stream.write(bytes, (error?: Error | null) => {
        if (error) reject(error);
        else resolve(bytes.length);
      });
    });
    return Promise.race([written, this.#broken.promise]);
  }

  close(): void {
    this.#rest = undefined;
    this.#break(new Error("The connection was closed"));
    this.#stream.destroy();
  }

  #break(error: Error): void {
    this.#error ??= error;
    this.#broken.reject(this.#error);
    this.#wake();
  }
}
