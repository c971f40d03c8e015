/**
 * Connections that wait for their next request, by address.
 *
 * The newest is taken first: it is the least likely to be closing, and those
 * that a burst needed grow old and go. Each keeps a read pending, so that an
 * engine's closing, or a byte that nobody asked for, takes the connection out
 * instead of failing the next request on it.
 *
 * Invariant: a connection in the pool has no request, no unread byte and an
 * open socket, and is younger than the idle limit when it is handed out.
 *
 * @module
 */
import type { Address } from "../core/outside.ts";
import type { Connection, ConnectionOwner } from "./connection.ts";

/**
 * 4 s: uvicorn, which serves vLLM and SGLang, closes an idle connection
 * after 5 s, and a request that crosses that closing on the wire is lost.
 */
export const IDLE_MS_MAX = 4_000;

/** 256: the usual batch limit of an engine; more do not run at once. */
export const IDLE_PER_ADDRESS_MAX = 256;

/** 1,024 over all addresses: 16 MiB of read buffers. */
const IDLE_MAX = 1_024;

/** The idle connections to one address, oldest first. */
interface IdleList {
  readonly key: string;
  readonly connections: Connection[];
  isDropped: boolean;
}

/** Keeps idle connections and hands them out again. */
export class IdlePool implements ConnectionOwner {
  readonly #lists = new Map<string, IdleList>();
  /** Saves spelling out an address that is used again, as they mostly are. */
  readonly #byAddress = new WeakMap<Address, IdleList>();
  #count = 0;

  /** Connections in the pool. */
  get count(): number {
    return this.#count;
  }

  /** The newest connection to `address`, or `undefined`. */
  take(address: Address, nowMs: number): Connection | undefined {
    const { connections } = this.#list(address);
    const newest = connections.pop();
    if (newest === undefined) return undefined;
    this.#count--;
    if (nowMs - newest.idleSinceMs < IDLE_MS_MAX) return newest;
    newest.close();
    this.#closeAll(connections);
    return undefined;
  }

  /** Keeps `connection`, whose last response has ended cleanly. */
  put(address: Address, connection: Connection, nowMs: number): void {
    const list = this.#list(address);
    if (this.#count >= IDLE_MAX) {
      connection.close();
      return;
    }
    if (list.connections.length >= IDLE_PER_ADDRESS_MAX) {
      list.connections.shift()?.close();
      this.#count--;
    }
    connection.idleSinceMs = nowMs;
    connection.owner = this;
    connection.clear();
    list.connections.push(connection);
    this.#count++;
    connection.idleAmong = list.connections;
    connection.read();
  }

  /** Closes what has been idle for too long. */
  sweep(nowMs: number): void {
    for (const list of this.#lists.values()) {
      const { connections } = list;
      let stale = 0;
      for (const connection of connections) {
        if (nowMs - connection.idleSinceMs < IDLE_MS_MAX) break;
        stale++;
      }
      if (stale > 0) this.#closeAll(connections, stale);
      if (connections.length === 0) {
        list.isDropped = true;
        this.#lists.delete(list.key);
      }
    }
  }

  /** Closes all connections. */
  close(): void {
    for (const list of this.#lists.values()) this.#closeAll(list.connections);
  }

  /** Bytes without a request: whoever sent them is out of step. */
  onBytes(connection: Connection): void {
    this.#discard(connection);
  }

  /** The engine has closed an idle connection, as it may. */
  onEnd(connection: Connection): void {
    this.#discard(connection);
  }

  #discard(connection: Connection): void {
    connection.close();
    const connections = connection.idleAmong ?? [];
    const at = connections.indexOf(connection);
    if (at < 0) return;
    connections.splice(at, 1);
    this.#count--;
  }

  #closeAll(connections: Connection[], count = connections.length): void {
    for (const connection of connections.splice(0, count)) connection.close();
    this.#count -= count;
  }

  #list(address: Address): IdleList {
    const known = this.#byAddress.get(address);
    if (known !== undefined && !known.isDropped) return known;
    const key = address.kind === "unix"
      ? `unix:${address.path}`
      : `${address.tls ? "tls" : "tcp"}:${address.hostname}:${address.port}` +
        // One that was verified in another way is another connection.
        (address.trust === undefined ? "" : JSON.stringify(address.trust));
    const list = this.#lists.get(key) ??
      { key, connections: [], isDropped: false };
    this.#lists.set(key, list);
    this.#byAddress.set(address, list);
    return list;
  }
}
