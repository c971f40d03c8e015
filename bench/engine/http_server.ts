/**
 * A small HTTP/1.1 server on raw sockets, made to misbehave on request.
 *
 * `Deno.serve` neither shows the bytes of a request nor lets an answer be
 * broken, so an engine of faults needs its own.
 *
 * Invariant: each connection is served by one task that ends with it, and
 * `stop()` and `kill()` return only when all of these tasks have ended.
 *
 * @module
 */
import { ByteReader, readHead } from "./byte_reader.ts";
import { Exchange, type Handler } from "./exchange.ts";
import { type Faults, NO_FAULTS } from "./faults.ts";
import { type Answer, writeAnswer } from "./http_answer.ts";
import { parseHead } from "./http_request.ts";
import type { RequestLog } from "./request_log.ts";

/** How long `stop()` waits for exchanges that are under way. */
const STOP_WAIT_MS = 5000;

/** Long enough not to spin while accepting fails. */
const ACCEPT_RETRY_MS = 10;

const BAD_REQUEST: Answer = {
  status: 400,
  headers: [["connection", "close"]],
  body: new Uint8Array(),
};

/** Where to listen. */
export type ListenAddress =
  | { readonly hostname: string; readonly port: number }
  | { readonly path: string };

/** What a server is made of. */
export interface HttpServerOptions {
  readonly address: ListenAddress;
  readonly handler: Handler;
  readonly faults: Faults;
  readonly log: RequestLog;
}

/** One connection. */
interface Connection {
  readonly conn: Deno.Conn;
  readonly reader: ByteReader;
  readonly number: number;
  exchange: Exchange | undefined;
}

/** The server of one engine. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #connections = new Set<Connection>();
  readonly #tasks = new Set<Promise<void>>();
  #address: ListenAddress;
  #listener: Deno.Listener | undefined;
  #accepting: Promise<void> = Promise.resolve();
  #isStopping = false;
  #connectionCount = 0;
  #requestCount = 0;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#address = options.address;
  }

  /** The port, or 0 on a unix socket. */
  get port(): number {
    return "port" in this.#address ? this.#address.port : 0;
  }

  /** Connections open now. */
  get connectionsOpen(): number {
    return this.#connections.size;
  }

  /** Connections accepted since the start. */
  get connectionCount(): number {
    return this.#connectionCount;
  }

  /** Requests whose head was read since the start. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** Starts to accept, at the same address as before. No-op when it does. */
  listen(): void {
    if (this.#listener !== undefined) return;
    const address = this.#address;
    const listener = "path" in address
      ? Deno.listen({ transport: "unix", path: address.path })
      : Deno.listen({ hostname: address.hostname, port: address.port });
    if ("hostname" in address && listener.addr.transport === "tcp") {
      this.#address = { ...address, port: listener.addr.port };
    }
    this.#listener = listener;
    this.#accepting = this.#accept(listener);
  }

  /** Refuses new connections once it resolves; open ones go on. */
  async refuse(): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) return;
    this.#listener = undefined;
    listener.close();
    // The socket listens for as long as an accept is pending on it.
    await this.#accepting;
    if (!("path" in this.#address)) return;
    try {
      Deno.removeSync(this.#address.path);
    } catch (error) {
      // Deno versions differ in whether closing removes the file.
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }

  /** Closes everything at once. */
  async kill(): Promise<void> {
    this.#isStopping = true;
    await this.refuse();
    for (const connection of [...this.#connections]) this.#drop(connection);
    await Promise.all(this.#tasks);
  }

  /** Closes idle connections, waits for the busy ones a while, then kills. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.refuse();
    for (const connection of [...this.#connections]) {
      if (connection.exchange === undefined) this.#drop(connection);
    }
    const waited = Promise.withResolvers<void>();
    const timer = setTimeout(waited.resolve, STOP_WAIT_MS);
    await Promise.race([Promise.all(this.#tasks), waited.promise]);
    clearTimeout(timer);
    await this.kill();
  }

  #spawn(task: Promise<void>): void {
    this.#tasks.add(task);
    task.finally(() => this.#tasks.delete(task));
  }

  async #accept(listener: Deno.Listener): Promise<void> {
    for (;;) {
      let conn: Deno.Conn;
      try {
        conn = await listener.accept();
      } catch (error) {
        if (this.#listener !== listener) return;
        // Out of file descriptors, or the client is gone already: both pass.
        if (error instanceof Deno.errors.BadResource) throw error;
        await new Promise((resolve) => setTimeout(resolve, ACCEPT_RETRY_MS));
        continue;
      }
      if ("setNoDelay" in conn) (conn as Deno.TcpConn).setNoDelay(true);
      this.#spawn(this.#serve(conn));
    }
  }

  async #serve(conn: Deno.Conn): Promise<void> {
    const connection: Connection = {
      conn,
      reader: new ByteReader(conn),
      number: this.#connectionCount++,
      exchange: undefined,
    };
    this.#connections.add(connection);
    try {
      while (!this.#isStopping && await this.#serveOne(connection));
    } catch {
      // Whatever broke the exchange is in its record; the connection goes.
    } finally {
      this.#drop(connection);
    }
  }

  /** Serves one request; false when the connection is to be closed. */
  async #serveOne(connection: Connection): Promise<boolean> {
    const { faults, handler, log } = this.#options;
    const { conn, reader } = connection;
    const bytes = await this.#nextHead(connection);
    if (bytes === undefined) return false;
    const head = parseHead(bytes);
    if (head === undefined) {
      await writeAnswer(
        { conn, isHead: false, signal: () => AbortSignal.abort() },
        BAD_REQUEST,
        NO_FAULTS,
      );
      return false;
    }
    this.#requestCount++;
    const exchange = new Exchange({
      conn,
      reader,
      head,
      switches: faults.draw(head.target),
      record: log.open(head, connection.number),
      changed: () => log.changed(),
    });
    connection.exchange = exchange;
    log.changed();
    const isKept = await exchange.run(handler);
    connection.exchange = undefined;
    return isKept;
  }

  async #nextHead(connection: Connection): Promise<Uint8Array | undefined> {
    const { faults } = this.#options;
    let idleTimer: ReturnType<typeof setTimeout> | undefined;
    if (faults.closeIdleAfterMs !== undefined) {
      const close = () => this.#drop(connection);
      idleTimer = setTimeout(close, faults.closeIdleAfterMs);
    }
    try {
      return await readHead(connection.reader);
    } finally {
      clearTimeout(idleTimer);
    }
  }

  #drop(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    connection.exchange?.abort();
    connection.conn.close();
  }
}
