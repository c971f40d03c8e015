/**
 * A listening address whose requests the gateway answers.
 *
 * Behind it is one server of the runtime at a time. Its certificate is fixed
 * when it starts to listen, so another certificate takes another server, on
 * the same port beside the former one, which has each answer end its
 * connection for a while, then takes no more connections, and ends with its
 * last request. What is being set up at that moment is lost, as the runtime
 * cannot stop accepting without ending idle connections too: a handshake, or a
 * request that meets the end of its idle connection.
 *
 * Invariant: every request gets the gateway's answer or a broken connection,
 * and stopping ends within its deadline whatever the clients do.
 *
 * @module
 */
import type { Answer, ClientRequest } from "../gateway/client_request.ts";
import { type CertifiedKey, ListeningServer } from "./listening_server.ts";

/** What a listener is told. */
export interface ListenerOptions {
  readonly hostname: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Whether other listeners share the port (SO_REUSEPORT). */
  readonly reusePort: boolean;
  /** Listens for TLS with it; for plain HTTP without. */
  readonly certified?: CertifiedKey | undefined;
  /** Answers a request; must not reject. */
  readonly handle: (request: ClientRequest) => Promise<Answer>;
}

/**
 * 5 s: a body that has not come by then comes slowly. Meanwhile connections
 * are accepted as before.
 */
const UPLOADS_MS_MAX = 5_000;

/**
 * 60 s for the bodies that a former server receives, when nothing is in a
 * hurry: its certificate is mostly still good for days.
 */
const FORMER_UPLOADS_MS_MAX = 60_000;

/**
 * 2 s in which a former server leaves its clients: who uses a connection more
 * often than that is not on one that is cut.
 */
const FORMER_GRACE_MS = 2_000;

/** Certificates change in weeks, and the longest answers take hours. */
const FORMER_MAX = 8;

/** Serves one address until it is stopped. */
export class Listener {
  readonly hostname: string;
  readonly port: number;
  readonly #options: ListenerOptions;
  #server: ListeningServer;
  /** Servers with former certificates that still have requests. */
  readonly #former: ListeningServer[] = [];

  /** @throws {Deno.errors.AddrInUse} and other errors of listening. */
  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#server = new ListeningServer({
      ...options,
      // Another certificate needs another server on the same port.
      reusePort: options.reusePort || options.certified !== undefined,
    });
    this.hostname = this.#server.hostname;
    this.port = this.#server.port;
  }

  /**
   * Takes new connections with another certificate, all of them once some
   * seconds are over. Open requests go on under the former one; connections
   * without any are closed then.
   *
   * @throws {Error} when certificate and key are of no use, or when too many
   * former servers have not ended; then nothing has changed.
   */
  exchange(certified: CertifiedKey): void {
    if (this.#former.length >= FORMER_MAX) {
      throw new Error(
        `Cannot take another certificate: ${FORMER_MAX} former ones are still` +
          " in use",
      );
    }
    const former = this.#server;
    const { port } = this;
    this.#server = new ListeningServer({
      ...this.#options,
      port,
      reusePort: true,
      certified,
    });
    this.#former.push(former);
    this.#retire(former);
  }

  /** Has each answer from now on end its connection; HTTP/2 has no need of it. */
  leave(): void {
    for (const server of [this.#server, ...this.#former]) server.leave();
  }

  /**
   * Takes no more requests and waits for open answers, for `deadlineMs` at
   * most. What is open then ends when its owner closes the upstream side.
   *
   * @returns Requests that were broken, as their bodies had not come whole.
   */
  async stop(deadlineMs: number): Promise<number> {
    const uploadsMs = Math.min(deadlineMs, UPLOADS_MS_MAX);
    const stopping = [this.#server, ...this.#former].map((server) =>
      server.stop({ uploadsMs, deadlineMs })
    );
    const brokenCounts = await Promise.all(stopping);
    return brokenCounts.reduce((sum, count) => sum + count, 0);
  }

  async #retire(server: ListeningServer): Promise<void> {
    await server.stop({
      graceMs: FORMER_GRACE_MS,
      uploadsMs: FORMER_UPLOADS_MS_MAX,
    });
    this.#former.splice(this.#former.indexOf(server), 1);
  }
}
