/**
 * The admin listener: whether the gateway lives, is ready, and its metrics.
 *
 * It is served by the main thread, which carries no client traffic, so it
 * answers under any load.
 *
 * Invariant: what is served here is read-only, and errors are problem details
 * (RFC 9457).
 *
 * @module
 */
import { STATUS_CODE, STATUS_TEXT, type StatusCode } from "@std/http/status";

/** What the admin listener reads. */
export interface AdminParts {
  readonly hostname: string;
  /** 0 for any free port. */
  readonly port: number;
  /** How many endpoints are eligible, of how many. */
  readonly readiness: () => {
    readonly eligible: number;
    readonly total: number;
  };
  /** Renders the metrics page. */
  readonly metrics: () => Promise<string>;
}

/** Serves the admin address until it is stopped. */
export class AdminListener {
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #parts: AdminParts;

  /** @throws {Deno.errors.AddrInUse} and other errors of listening. */
  constructor(parts: AdminParts) {
    this.#parts = parts;
    this.#server = Deno.serve({
      hostname: parts.hostname,
      port: parts.port,
      onListen: () => {},
    }, (request) => this.#answer(request));
    this.port = this.#server.addr.port;
  }

  async stop(): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.method !== "GET" && request.method !== "HEAD") {
      return problem(STATUS_CODE.MethodNotAllowed, "Use GET");
    }
    switch (pathname) {
      case "/healthz":
        return Response.json({ status: "alive" });
      case "/readyz":
        return this.#readiness();
      case "/metrics":
        return new Response(await this.#parts.metrics(), {
          headers: { "content-type": "text/plain; version=0.0.4" },
        });
      default:
        return problem(
          STATUS_CODE.NotFound,
          "Known are /healthz, /readyz and /metrics",
        );
    }
  }

  #readiness(): Response {
    const { eligible, total } = this.#parts.readiness();
    const isReady = eligible > 0;
    return Response.json(
      { status: isReady ? "ready" : "not ready", eligible, total },
      { status: isReady ? 200 : 503 },
    );
  }
}

/** A problem of the kind its status names. */
function problem(status: StatusCode, detail: string): Response {
  const body = {
    type: "about:blank",
    title: STATUS_TEXT[status],
    status,
    detail,
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json" },
  });
}
