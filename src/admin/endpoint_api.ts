/**
 * The endpoints on the admin API: what they are doing, drain and restore.
 *
 * Ids are URLs unless they are named, so they stand in bodies, not in paths.
 *
 * Invariant: an id that is not listed changes nothing and is told what is.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import type { EndpointState } from "../core/endpoint.ts";
import { Problem } from "./problem.ts";

/** An endpoint as it is now. */
export interface EndpointReport {
  readonly id: string;
  readonly state: EndpointState;
  readonly inFlight: number;
  /** Most in flight at once; `undefined` for no limit. */
  readonly limit: number | undefined;
  /** Live sessions bound to it. */
  readonly sessions: number;
  /** Requests in a row that failed by its fault. */
  readonly consecutiveFailures: number;
  /** Milliseconds since it answered a request; `undefined` for never. */
  readonly lastAnswerAgeMs: number | undefined;
  /** Models it lists; `undefined` when its list cannot be read. */
  readonly models: number | undefined;
}

/** What can be seen and changed of endpoints. */
export interface EndpointControl {
  readonly list: () => readonly EndpointReport[];
  /** Returns false when the id is not listed. */
  readonly drain: (id: string) => boolean;
  /** Returns false when the id is not listed. */
  readonly restore: (id: string) => boolean;
}

/** What can be done to an endpoint. */
export type EndpointChange = "drain" | "restore";

/** All endpoints as the API shows them. */
export function endpointsBody(control: EndpointControl): unknown {
  return { endpoints: control.list().map(shown) };
}

/**
 * Does what `body`, `{"id": ...}`, asks for; twice is as good as once.
 *
 * @returns The endpoint as it is after that.
 * @throws {Problem}
 */
export function changeEndpoint(
  control: EndpointControl,
  change: EndpointChange,
  body: unknown,
): unknown {
  const id = idOf(body);
  if (!control[change](id)) throw unknownEndpoint(control, change, id);
  const report = control.list().find((report) => report.id === id);
  return report === undefined ? { id } : shown(report);
}

function idOf(body: unknown): string {
  if (
    typeof body === "object" && body !== null && "id" in body &&
    typeof body.id === "string"
  ) return body.id;
  throw new Problem(
    STATUS_CODE.BadRequest,
    'Cannot find the endpoint: the body must be {"id": "..."}',
  );
}

function unknownEndpoint(
  control: EndpointControl,
  change: EndpointChange,
  id: string,
): Problem {
  const known = control.list().map((report) => `"${report.id}"`);
  const hint = known.length === 0
    ? "none is known"
    : `known are ${known.join(", ")}`;
  return new Problem(
    STATUS_CODE.NotFound,
    `Cannot ${change} endpoint "${id}": ${hint}`,
  );
}

/** In the spelling of the configuration file. */
function shown(report: EndpointReport): Record<string, unknown> {
  return {
    id: report.id,
    state: report.state,
    "in_flight": report.inFlight,
    limit: report.limit ?? null,
    sessions: report.sessions,
    "consecutive_failures": report.consecutiveFailures,
    "last_answer_age_ms": report.lastAnswerAgeMs ?? null,
    models: report.models ?? null,
  };
}
