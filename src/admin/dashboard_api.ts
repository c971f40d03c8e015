/**
 * The dashboard on the admin API: its page, and the events that it shows.
 *
 * The parts of the page are no operations: they change with the page, and
 * nobody but the page asks for them.
 *
 * Invariant: the page has nothing in it; what it shows it asks for as others
 * do, with the token.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { Dashboard } from "./dashboard/dashboard.ts";
import { type Operation, operation } from "./operation.ts";

/** What can be asked of a dashboard; nothing without one. */
export function dashboardOperations(
  dashboard: Dashboard | undefined,
): Operation[] {
  if (dashboard === undefined) return [];
  return [
    operation({
      method: "GET",
      path: "/",
      id: "getDashboard",
      summary: "The dashboard, for a browser",
      access: "open",
      members: {},
      answer: { doc: "A page", content: "text/html" },
      run: () => dashboard.page(),
    }),
    operation({
      method: "GET",
      path: "/events",
      id: "watchStatus",
      summary: "The status each second, until the client leaves",
      access: "token",
      members: {},
      answer: {
        doc: "Server-sent events, each with the JSON of /status",
        content: "text/event-stream",
      },
      problems: {
        [STATUS_CODE.ServiceUnavailable]: "Too many listen",
      },
      run: (_values, request) => dashboard.events(request),
    }),
  ];
}
