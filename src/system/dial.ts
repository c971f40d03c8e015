/**
 * The real sockets: TCP, TLS and unix.
 *
 * TLS is started on a TCP connection that is already there, instead of with
 * `Deno.connectTls`, because only so can Nagle's delay be switched off under
 * it, connecting be given up, and the handshake be over when dialing is.
 *
 * Invariant: a dial that fails or is given up leaves nothing open, with one
 * exception: a TLS handshake that is given up rejects at once, but Deno keeps
 * its TCP connection until the other side speaks or closes.
 *
 * @module
 */
import type { Address, Dial, Socket } from "../core/outside.ts";

/** How to dial. */
export interface DialOptions {
  /** PEM certificates trusted in addition to the system's own. */
  readonly caCerts?: readonly string[] | undefined;
}

/** HTTP/1.1 and nothing else: an engine must not be left to choose. */
const ALPN_PROTOCOLS = ["http/1.1"];

/** A `Dial` that opens sockets of this machine. */
export function createDial(options: DialOptions = {}): Dial {
  return async (address, signal) => {
    try {
      return new SystemSocket(await connect(address, options, signal));
    } catch (cause) {
      throw dialError(address, cause);
    }
  };
}

async function connect(
  address: Address,
  options: DialOptions,
  signal: AbortSignal | undefined,
): Promise<Deno.Conn> {
  if (address.kind === "unix") {
    return await Deno.connect({ transport: "unix", path: address.path });
  }
  const { hostname, port, tls } = address;
  const tcp = await Deno.connect(
    signal === undefined ? { hostname, port } : { hostname, port, signal },
  );
  try {
    signal?.throwIfAborted();
    tcp.setNoDelay(true);
  } catch (error) {
    tcp.close();
    throw error;
  }
  return tls ? await secure(tcp, hostname, options, signal) : tcp;
}

async function secure(
  tcp: Deno.TcpConn,
  hostname: string,
  options: DialOptions,
  signal: AbortSignal | undefined,
): Promise<Deno.Conn> {
  const secured = await Deno.startTls(tcp, {
    hostname,
    alpnProtocols: ALPN_PROTOCOLS,
    ...(options.caCerts === undefined ? {} : { caCerts: [...options.caCerts] }),
  });
  const giveUp = (): void => closeQuietly(secured);
  signal?.addEventListener("abort", giveUp);
  try {
    signal?.throwIfAborted();
    await secured.handshake();
    return secured;
  } catch (error) {
    giveUp();
    throw error;
  } finally {
    signal?.removeEventListener("abort", giveUp);
  }
}

/** The address for whoever reads the log, and the system's own words. */
function dialError(address: Address, cause: unknown): Error {
  const place = address.kind === "unix"
    ? `unix:${address.path}`
    : `${address.hostname}:${address.port}`;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(`Cannot connect to "${place}": ${reason}`, { cause });
}

/** A `Deno.Conn` that may be closed twice. */
class SystemSocket implements Socket {
  readonly #conn: Deno.Conn;
  #isClosed = false;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
  }

  read(buffer: Uint8Array): Promise<number | null> {
    return this.#conn.read(buffer);
  }

  write(bytes: Uint8Array): Promise<number> {
    return this.#conn.write(bytes);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeQuietly(this.#conn);
  }
}

/** Closing what an abort has already closed is no error. */
function closeQuietly(conn: Deno.Conn): void {
  try {
    conn.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}
