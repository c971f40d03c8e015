/**
 * A listening socket whose requests the gateway answers.
 *
 * Invariant: every request gets the gateway's answer or a broken connection,
 * and stopping ends within its deadline whatever the clients do.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import type { HeaderList } from "../core/request.ts";
import type { Answer, ClientRequest } from "../gateway/client_request.ts";
import { type ServerQuirks, serverQuirks } from "./deno_versions.ts";
import { DisconnectWatch } from "./disconnect_watch.ts";
import { ServedRequest } from "./served_request.ts";
import { acceptTunnel } from "./websocket.ts";

/** What a listener is told. */
export interface ListenerOptions {
  readonly hostname: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Whether other listeners share the port (SO_REUSEPORT). */
  readonly reusePort: boolean;
  /** Answers a request; must not reject. */
  readonly handle: (request: ClientRequest) => Promise<Answer>;
}

/** Milliseconds between two looks at bodies that are being read. */
const LOOK_MS = 5;

/**
 * 5 s: a body that has not come by then comes slowly. Meanwhile connections
 * are accepted as before.
 */
const UPLOADS_MS_MAX = 5_000;

/** Serves one address until it is stopped. */
export class Listener {
  readonly hostname: string;
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #watch: DisconnectWatch<ServedRequest>;
  readonly #quirks: ServerQuirks;
  #isStopping = false;

  /** @throws {Deno.errors.AddrInUse} and other errors of listening. */
  constructor(options: ListenerOptions) {
    const quirks = serverQuirks(Deno.version.deno);
    const watch = new DisconnectWatch<ServedRequest>(
      quirks.forgetsDisconnects,
    );
    this.#watch = watch;
    this.#quirks = quirks;
    this.#server = Deno.serve(
      {
        hostname: options.hostname,
        port: options.port,
        reusePort: options.reusePort,
        onListen: () => {},
        // An answer's stream broke: the connection is cut, which is the answer.
        onError: () => new Response(null, { status: 500 }),
      },
      async (request, info) => {
        const served = new ServedRequest(request, info.remoteAddr.hostname);
        watch.add(served);
        if (this.#isStopping) served.watchUpload();
        const answer = await options.handle(served);
        watch.answered(served);
        served.isAnswered = true;
        return answer.tunnel === undefined
          ? toResponse(answer, quirks)
          : acceptTunnel(request, answer.headers, answer.tunnel);
      },
    );
    this.hostname = this.#server.addr.hostname;
    this.port = this.#server.addr.port;
  }

  /**
   * Takes no more requests and waits for open answers, for `deadlineMs` at
   * most. What is open then ends when its owner closes the upstream side.
   *
   * @returns Requests that were broken, as their bodies had not come whole.
   */
  async stop(deadlineMs: number): Promise<number> {
    await this.#untilUploaded(Math.min(deadlineMs, UPLOADS_MS_MAX));
    const brokenCount = this.#uploadCount();
    const overdue = Promise.withResolvers<void>();
    const deadline = setTimeout(overdue.resolve, deadlineMs);
    try {
      // Aborting the server's signal instead, once it shuts down, throws.
      await Promise.race([this.#server.shutdown(), overdue.promise]);
    } finally {
      clearTimeout(deadline);
      this.#watch.close();
    }
    return brokenCount;
  }

  /** Waits for a moment in which shutting down breaks nothing. */
  async #untilUploaded(waitMs: number): Promise<void> {
    this.#isStopping = true;
    this.#watch.forEach((served) => served.watchUpload());
    if (this.#uploadCount() === 0) return;
    for (let waitedMs = 0; waitedMs < waitMs; waitedMs += LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (this.#uploadCount() === 0) return;
    }
  }

  #uploadCount(): number {
    if (!this.#quirks.breaksUploads) return 0;
    let count = 0;
    this.#watch.forEach(({ isUploading }) => count += isUploading ? 1 : 0);
    return count;
  }
}

/** Statuses that carry no body (RFC 9110, 15.3.5, 15.3.6, 15.4.5). */
const BODYLESS: ReadonlySet<number> = new Set([204, 205, 304]);

function toResponse(answer: Answer, quirks: ServerQuirks): Response {
  const { status, body } = answer;
  const headers = quirks.compressesAnswers
    ? withoutTransform(answer.headers)
    : answer.headers;
  const init = { status, headers: headers as [string, string][] };
  if (body === undefined || BODYLESS.has(status)) {
    return new Response(null, init);
  }
  if (body instanceof Uint8Array) {
    if (quirks.ignoresClose && saysClose(headers)) {
      return new Response(streamOf(new LastBody(body)), init);
    }
    return new Response(body as Uint8Array<ArrayBuffer>, init);
  }
  return new Response(streamOf(body), init);
}

function saysClose(headers: HeaderList): boolean {
  return headers.some(([name, value]) =>
    name === "connection" && value === "close"
  );
}

/** A body after which the connection ends, since its stream breaks off. */
class LastBody implements BodySource {
  readonly length = undefined;
  #bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(): Promise<Uint8Array | undefined> {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes === undefined
      ? Promise.reject(new Error("Cannot keep this connection open"))
      : Promise.resolve(bytes);
  }

  cancel(): void {
    this.#bytes = undefined;
  }
}

/** A stream that pulls only what the client has room for. */
function streamOf(body: BodySource): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    async pull(controller) {
      const chunk = await body.read();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
    },
    cancel: () => body.cancel(),
  }, { highWaterMark: 0 });
}

/** Forbids compression unless the answer is encoded already. */
function withoutTransform(headers: HeaderList): HeaderList {
  let cacheControl = "no-transform";
  const rest: [string, string][] = [];
  for (const [name, value] of headers) {
    if (name === "content-encoding") return headers;
    if (name === "cache-control") cacheControl = `${value}, no-transform`;
    else rest.push([name, value]);
  }
  return [...rest, ["cache-control", cacheControl]];
}
