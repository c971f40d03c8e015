/**
 * The real sockets: TCP, TLS and unix.
 *
 * TLS is started on a TCP connection that is already there, instead of with
 * `Deno.connectTls`, because only so can Nagle's delay be switched off under
 * it, connecting be given up, and the handshake be over when dialing is.
 *
 * An endpoint that wants the gateway's own certificate, or is not verified, is
 * spoken to by the runtime's other TLS, as this one can do neither. The files
 * of certificates are read at every connection, so that changed ones are used.
 *
 * Invariant: a dial that fails or is given up leaves nothing open, with one
 * exception: a TLS handshake that is given up rejects at once, but Deno keeps
 * its TCP connection until the other side speaks or closes.
 *
 * @module
 */
import type { Address, Dial, Socket, UpstreamTls } from "../core/outside.ts";
import { connectNodeTls } from "./node_tls.ts";

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
      return await connect(address, options, signal);
    } catch (cause) {
      throw dialError(address, cause);
    }
  };
}

async function connect(
  address: Address,
  options: DialOptions,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  if (address.kind === "unix") {
    const { path } = address;
    return new SystemSocket(await Deno.connect({ transport: "unix", path }));
  }
  const { hostname, port, tls, trust } = address;
  if (tls && (trust?.insecure === true || trust?.certFile !== undefined)) {
    return await connectNodeTls({ hostname, port, trust }, signal);
  }
  const caCerts = tls ? await caCertsOf(options, trust) : [];
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
  if (!tls) return new SystemSocket(tcp);
  const serverName = trust?.serverName ?? hostname;
  return new SystemSocket(await secure(tcp, { serverName, caCerts }, signal));
}

async function caCertsOf(
  { caCerts = [] }: DialOptions,
  trust: UpstreamTls | undefined,
): Promise<string[]> {
  return trust?.caFile === undefined
    ? [...caCerts]
    : [...caCerts, await Deno.readTextFile(trust.caFile)];
}

async function secure(
  tcp: Deno.TcpConn,
  { caCerts, serverName }: {
    readonly caCerts: string[];
    readonly serverName: string;
  },
  signal: AbortSignal | undefined,
): Promise<Deno.Conn> {
  const secured = await Deno.startTls(tcp, {
    hostname: serverName,
    alpnProtocols: ALPN_PROTOCOLS,
    caCerts,
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
