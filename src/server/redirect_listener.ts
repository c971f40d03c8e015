/**
 * Sends clients of plain HTTP on to HTTPS.
 *
 * Invariant: it says where to go and nothing else; no request is read beyond
 * its head, and none reaches the gateway.
 *
 * @module
 */
import { targetOf } from "./served_request.ts";

/** Host without its port (RFC 3986, 3.2.2). */
const HOST = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::\d{0,5})?$/;

/** The port that HTTPS URLs do without. */
const HTTPS_PORT = 443;

/** 308 keeps method and body (RFC 9110, 15.4.9). */
const PERMANENT_REDIRECT = 308;

/** What a listener for redirects is told. */
export interface RedirectOptions {
  readonly hostname: string;
  readonly port: number;
  readonly reusePort: boolean;
  /** Where HTTPS is served. */
  readonly httpsPort: number;
}

/** Redirects until it is stopped. */
export class RedirectListener {
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** @throws {Deno.errors.AddrInUse} and other errors of listening. */
  constructor({ httpsPort, ...place }: RedirectOptions) {
    this.#server = Deno.serve({
      ...place,
      onListen: () => {},
      onError: () => new Response(null, { status: 500 }),
    }, (request) => redirect(request, httpsPort));
    this.port = this.#server.addr.port;
  }

  /** Listens no more; its answers are short, and none is waited for. */
  async stop(): Promise<void> {
    await this.#server.shutdown();
  }
}

function redirect(request: Request, httpsPort: number): Response {
  const host = HOST.exec(request.headers.get("host") ?? "")?.[1];
  const target = targetOf(request.method, request.url);
  if (host === undefined || !target.startsWith("/")) {
    return new Response(null, { status: 400 });
  }
  const port = httpsPort === HTTPS_PORT ? "" : `:${httpsPort}`;
  return new Response(null, {
    status: PERMANENT_REDIRECT,
    headers: { location: `https://${host}${port}${target}` },
  });
}
