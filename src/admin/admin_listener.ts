/**
 * The admin listener: whether the gateway lives and is ready, its metrics, and
 * its endpoints.
 *
 * It is served by the main thread, which carries no client traffic, so it
 * answers under any load, and until the very end.
 *
 * Invariant: a GET changes nothing, and errors are problem details (RFC 9457).
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { Log } from "../core/outside.ts";
import { readChange } from "./change_request.ts";
import { Dashboard } from "./dashboard/dashboard.ts";
import {
  changeEndpoint,
  type EndpointChange,
  type EndpointControl,
  endpointsBody,
} from "./endpoint_api.ts";
import { Problem, problemResponse } from "./problem.ts";
import { type ReadinessFacts, readinessOf } from "./readiness.ts";
import type { GatewayStatus } from "./status.ts";

/** What the admin listener reads and changes. */
export interface AdminParts {
  readonly hostname: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly log: Log;
  readonly readiness: () => ReadinessFacts;
  /** Renders the metrics page. */
  readonly metrics: () => Promise<string>;
  readonly endpoints: EndpointControl;
  /** What the dashboard shows; without it there is none. */
  readonly status?: () => GatewayStatus | Promise<GatewayStatus>;
}

/** Answers a request for one path. */
interface Route {
  readonly method: "GET" | "POST";
  readonly answer: (request: Request) => Response | Promise<Response>;
}

/** Milliseconds that admin clients get to read their answers at the end. */
const STOP_MS_MAX = 1_000;

/** Serves the admin address until it is stopped. */
export class AdminListener {
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #parts: AdminParts;
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #dashboard: Dashboard | undefined;

  /** @throws {Deno.errors.AddrInUse} and other errors of listening. */
  constructor(parts: AdminParts) {
    this.#parts = parts;
    const { status } = parts;
    this.#dashboard = status && new Dashboard({
      status,
      failed: (error) => this.#fail(error),
    });
    this.#routes = new Map<string, Route>([
      ["/healthz", get(() => Response.json({ status: "alive" }))],
      ["/readyz", get(() => this.#readiness())],
      ["/metrics", get(() => this.#metrics())],
      ["/endpoints", get(() => Response.json(endpointsBody(parts.endpoints)))],
      ["/endpoints/drain", this.#change("drain")],
      ["/endpoints/restore", this.#change("restore")],
    ]);
    this.#server = Deno.serve({
      hostname: parts.hostname,
      port: parts.port,
      onListen: () => {},
      onError: (error) => this.#fail(error),
    }, (request) => this.#answer(request));
    this.port = this.#server.addr.port;
  }

  /** Listens no more; open answers get a moment. */
  async stop(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, STOP_MS_MAX);
    this.#dashboard?.close();
    await Promise.race([this.#server.shutdown(), late]);
    clearTimeout(timer);
  }

  async #answer(request: Request): Promise<Response> {
    try {
      return await this.#routeOf(request).answer(request);
    } catch (error) {
      if (error instanceof Problem) return problemResponse(error);
      throw error;
    }
  }

  #routeOf({ method, url }: Request): Route {
    const path = new URL(url).pathname;
    const route = this.#routes.get(path) ?? this.#dashboardRoute(path);
    if (route === undefined) {
      const known = [...this.#routes.keys()].join(", ");
      throw new Problem(STATUS_CODE.NotFound, `Known are ${known}`);
    }
    const wanted = method === "HEAD" ? "GET" : method;
    if (route.method !== wanted) {
      const allow = route.method === "GET" ? "GET, HEAD" : route.method;
      throw new Problem(
        STATUS_CODE.MethodNotAllowed,
        `Cannot use ${method}: use ${allow}`,
        { allow },
      );
    }
    return route;
  }

  #dashboardRoute(path: string): Route | undefined {
    const dashboard = this.#dashboard;
    if (dashboard === undefined) return undefined;
    if (path === "/") return get(() => dashboard.page());
    if (path === "/events") return get((request) => dashboard.events(request));
    const asset = dashboard.asset(path);
    return asset && get(() => asset);
  }

  #readiness(): Response {
    const readiness = readinessOf(this.#parts.readiness());
    const isReady = readiness.status === "ready";
    return Response.json(readiness, {
      status: isReady ? STATUS_CODE.OK : STATUS_CODE.ServiceUnavailable,
    });
  }

  async #metrics(): Promise<Response> {
    return new Response(await this.#parts.metrics(), {
      headers: { "content-type": "text/plain; version=0.0.4" },
    });
  }

  #change(change: EndpointChange): Route {
    const { endpoints, hostname } = this.#parts;
    const answer = async (request: Request) => {
      const body = await readChange(request, hostname);
      return Response.json(changeEndpoint(endpoints, change, body));
    };
    return { method: "POST", answer };
  }

  #fail(error: unknown): Response {
    const cause = error instanceof Error ? error.stack : String(error);
    this.#parts.log("error", "admin.failed", { cause });
    return problemResponse(
      new Problem(STATUS_CODE.InternalServerError, "The log says why"),
    );
  }
}

function get(answer: Route["answer"]): Route {
  return { method: "GET", answer };
}
