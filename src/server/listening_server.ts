/**
 * One server of the runtime, with what is open on it.
 *
 * Invariant: it is told to shut down in a moment in which that breaks no
 * request, where there is one; and it can be told to stop more than once.
 *
 * @module
 */
import { type ServerQuirks, serverQuirks } from "./deno_versions.ts";
import { DisconnectWatch } from "./disconnect_watch.ts";
import type { ListenerOptions } from "./listener.ts";
import { toResponse } from "./response.ts";
import { ServedRequest } from "./served_request.ts";
import { acceptTunnel } from "./websocket.ts";

/** A certificate with its chain and its key, both PEM. */
export interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

/** How long a server may take to stop. */
export interface StopLimits {
  /** Milliseconds until request bodies that have not come whole are broken. */
  readonly uploadsMs: number;
  /**
   * Milliseconds before that in which it is used as before, but leaves; none
   * unless given. They end at once when it is told to stop again.
   */
  readonly graceMs?: number;
  /** Milliseconds for open answers; no limit unless given. */
  readonly deadlineMs?: number;
}

/** Milliseconds between two looks at bodies that are being read. */
const LOOK_MS = 5;

/** Serves until it is stopped. */
export class ListeningServer {
  readonly hostname: string;
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #watch: DisconnectWatch<ServedRequest>;
  readonly #quirks: ServerQuirks;
  #isLeaving = false;
  #isStopping = false;
  /** A wait of stopping ends at once when it is told to stop again. */
  #hurry: () => void = () => {};

  /** @throws {Deno.errors.AddrInUse} and other errors of listening. */
  constructor({ certified, handle, ...place }: ListenerOptions) {
    const quirks = serverQuirks(Deno.version.deno);
    const watch = new DisconnectWatch<ServedRequest>(
      quirks.forgetsDisconnects,
    );
    const scheme = certified === undefined ? "http" : "https";
    this.#watch = watch;
    this.#quirks = quirks;
    this.#server = Deno.serve(
      {
        hostname: place.hostname,
        port: place.port,
        reusePort: place.reusePort,
        ...certified,
        onListen: () => {},
        // An answer's stream broke: the connection is cut, which is the answer.
        onError: () => new Response(null, { status: 500 }),
      },
      async (request, info) => {
        const { hostname } = info.remoteAddr;
        const served = new ServedRequest(request, hostname, scheme);
        watch.add(served, served.isByHttp2);
        if (this.#isStopping) served.watchUpload();
        const answer = await handle(served);
        watch.answered(served);
        served.isAnswered = true;
        if (answer.tunnel !== undefined) {
          return acceptTunnel(request, answer.headers, answer.tunnel);
        }
        const response = toResponse(answer, quirks);
        if (this.#isLeaving && !served.isByHttp2) {
          response.headers.set("connection", "close");
        }
        return response;
      },
    );
    this.hostname = this.#server.addr.hostname;
    this.port = this.#server.addr.port;
  }

  /**
   * Has each answer from now on say that its connection ends with it (RFC 9112,
   * 9.6), so that the client's next request comes on a new one, to whoever
   * listens then. Else that request may be on its way when stopping closes the
   * connection, and nobody can tell the client whether it has been read.
   */
  leave(): void {
    this.#isLeaving = true;
  }

  /**
   * Takes no more requests and waits for open answers.
   *
   * @returns Requests that were broken, as their bodies had not come whole.
   */
  async stop(
    { deadlineMs, graceMs = 0, uploadsMs }: StopLimits,
  ): Promise<number> {
    this.#hurry();
    // Whoever has told it to stop meanwhile sees to the rest.
    if (!await this.#left(graceMs)) return 0;
    await this.#untilUploaded(uploadsMs);
    const brokenCount = this.#uploadCount();
    const overdue = Promise.withResolvers<void>();
    const deadline = deadlineMs === undefined
      ? undefined
      : setTimeout(overdue.resolve, deadlineMs);
    try {
      // Aborting the server's signal instead, once it shuts down, throws.
      await Promise.race([this.#server.shutdown(), overdue.promise]);
    } finally {
      clearTimeout(deadline);
      this.#watch.close();
    }
    return brokenCount;
  }

  /** Leaves for a while; false when that was cut short. */
  async #left(graceMs: number): Promise<boolean> {
    if (graceMs === 0) return true;
    this.leave();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(true), graceMs);
    this.#hurry = () => resolve(false);
    const isOver = await promise;
    clearTimeout(timer);
    return isOver;
  }

  /** Waits for a moment in which shutting down breaks nothing. */
  async #untilUploaded(waitMs: number): Promise<void> {
    this.#isStopping = true;
    this.#watch.forEach((served) => served.watchUpload());
    let isHurried = false;
    this.#hurry = () => {
      isHurried = true;
    };
    for (let waitedMs = 0; waitedMs < waitMs; waitedMs += LOOK_MS) {
      if (isHurried || this.#uploadCount() === 0) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  #uploadCount(): number {
    if (!this.#quirks.breaksUploads) return 0;
    let count = 0;
    this.#watch.forEach(({ isUploading }) => count += isUploading ? 1 : 0);
    return count;
  }
}
