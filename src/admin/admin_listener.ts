/**
 * The admin listener: the admin API and the dashboard.
 *
 * It is served by the main thread, which carries no client traffic, so it
 * answers under any load, and until the very end.
 *
 * Invariant: a GET changes nothing, errors are problem details (RFC 9457), and
 * nothing is read of a request before it is known that it may be asked.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { Log } from "../core/outside.ts";
import { type AccessLevel, type AccessParts, AdminAccess } from "./access.ts";
import { Dashboard } from "./dashboard/dashboard.ts";
import { dashboardOperations } from "./dashboard_api.ts";
import { type EndpointControl, endpointOperations } from "./endpoint_api.ts";
import { describeOperation } from "./openapi.ts";
import type { Operation } from "./operation.ts";
import { Problem, problemResponse } from "./problem.ts";
import { type ProcessControl, processOperations } from "./process_api.ts";
import { type SessionControl, sessionOperations } from "./session_api.ts";

/** What the admin listener reads and changes. */
export interface AdminParts extends AccessParts, ProcessControl {
  /** 0 for any free port. */
  readonly port: number;
  readonly log: Log;
  readonly endpoints: EndpointControl;
  readonly sessions?: SessionControl;
}

/** Answers one method on one path. */
interface Route {
  readonly method: Operation["method"];
  readonly access: AccessLevel;
  readonly answerTo: (request: Request) => Response | Promise<Response>;
}

/** Milliseconds that admin clients get to read their answers at the end. */
const STOP_MS_MAX = 1_000;

/** Serves the admin address until it is stopped. */
export class AdminListener {
  readonly port: number;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #log: Log;
  readonly #access: AdminAccess;
  readonly #operations: readonly Operation[];
  /** With a status there is a dashboard. */
  readonly #dashboard: Dashboard | undefined;

  /**
   * @throws {TypeError} without a token on an address that others reach.
   * @throws {Deno.errors.AddrInUse} and other errors of listening.
   */
  constructor(parts: AdminParts) {
    const { endpoints, hostname, log, port, sessions, status } = parts;
    this.#log = log;
    this.#access = new AdminAccess(parts);
    this.#dashboard = status && new Dashboard({
      status,
      failed: (error) => this.#fail(error),
    });
    this.#operations = [
      ...processOperations(parts),
      ...endpointOperations(endpoints),
      ...sessionOperations(sessions),
      ...dashboardOperations(this.#dashboard),
      describeOperation(() => this.#operations),
    ];
    this.#server = Deno.serve({
      hostname,
      port,
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
      const route = this.#routeOf(request);
      this.#access.check(request, route.access);
      const response = await route.answerTo(request);
      // What is asked for changes all the time, and is no business of caches.
      if (!response.headers.has("cache-control")) {
        response.headers.set("cache-control", "no-store");
      }
      response.headers.set("x-content-type-options", "nosniff");
      return response;
    } catch (error) {
      if (error instanceof Problem) return problemResponse(error);
      throw error;
    }
  }

  #routeOf({ method, url }: Request): Route {
    const path = new URL(url).pathname;
    const routes = [
      ...this.#operations.filter((operation) => operation.path === path),
      ...this.#assetRoutes(path),
    ];
    if (routes.length === 0) {
      const paths = this.#operations.map((operation) => operation.path);
      const known = [...new Set(paths)].join(", ");
      throw new Problem(STATUS_CODE.NotFound, `Known are ${known}`);
    }
    const wanted = method === "HEAD" ? "GET" : method;
    const route = routes.find((route) => route.method === wanted);
    if (route !== undefined) return route;
    const allow = routes
      .map(({ method }) => method === "GET" ? "GET, HEAD" : method)
      .join(", ");
    throw new Problem(
      STATUS_CODE.MethodNotAllowed,
      `Cannot use ${method}: use ${allow}`,
      { allow },
    );
  }

  #assetRoutes(path: string): readonly Route[] {
    const asset = this.#dashboard?.asset(path);
    if (asset === undefined) return [];
    return [{ method: "GET", access: "open", answerTo: () => asset }];
  }

  #fail(error: unknown): Response {
    const cause = error instanceof Error ? error.stack : String(error);
    this.#log("error", "admin.failed", { cause });
    return problemResponse(
      new Problem(STATUS_CODE.InternalServerError, "The log says why"),
    );
  }
}
