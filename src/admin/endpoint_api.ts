/**
 * The endpoints on the admin API: what they are doing, and what can be changed
 * about them while the gateway runs.
 *
 * Ids are URLs unless they are named, so they stand in bodies, not in paths.
 *
 * Invariant: an id that is not listed changes nothing and is told what is, and
 * every change answers with the endpoint as it is after that; twice is as good
 * as once.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Refusal } from "../config/complaint.ts";
import { ENDPOINT_FIELDS } from "../config/endpoints.ts";
import {
  ENDPOINT_STATES,
  type EndpointSpec,
  type EndpointState,
} from "../core/endpoint.ts";
import type { Member, Members, Schema, Values } from "./member.ts";
import { type Operation, operation } from "./operation.ts";
import { Problem } from "./problem.ts";

/** An endpoint as it is now. */
export interface EndpointReport {
  readonly id: string;
  readonly state: EndpointState;
  /** Share of sessions relative to the others. */
  readonly weight: number;
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

/** What can be set; `undefined` is what the configuration says. */
export interface EndpointSettings {
  readonly weight: number | undefined;
  readonly limit:
    | { readonly maxInFlight: EndpointSpec["maxInFlight"] }
    | undefined;
}

/** What can be seen and changed of endpoints; false for an unknown id. */
export interface EndpointControl {
  readonly list: () => readonly EndpointReport[];
  readonly drain: (id: string) => boolean;
  readonly restore: (id: string) => boolean;
  readonly setWeight: (
    id: string,
    weight: EndpointSettings["weight"],
  ) => boolean;
  readonly setLimit: (id: string, limit: EndpointSettings["limit"]) => boolean;
}

const ID: Member<string> = {
  schema: { type: "string", minLength: 1 },
  doc: "Id of the endpoint",
  isOptional: false,
  read(value) {
    if (typeof value === "string" && value !== "") return value;
    throw new Refusal("must be the id of an endpoint, as text");
  },
};

const WEIGHT: Member<EndpointSettings["weight"]> = {
  schema: { type: ["number", "null"], minimum: 0.001, maximum: 1000 },
  doc: `${ENDPOINT_FIELDS.weight.doc}, or null for the configured one`,
  isOptional: false,
  read(value) {
    if (value === null) return undefined;
    if (typeof value === "number") return ENDPOINT_FIELDS.weight.read(value);
    throw new Refusal("must be a number, or null for the configured one");
  },
};

const LIMIT: Member<EndpointSettings["limit"]> = {
  schema: {
    anyOf: [
      { type: "integer", minimum: 1, maximum: 1_000_000 },
      { type: "string", enum: ["auto", "none"] },
      { type: "null" },
    ],
  },
  doc: `${ENDPOINT_FIELDS.maxInFlight.doc}; null for the configured one`,
  isOptional: false,
  read(value) {
    if (value === null) return undefined;
    const isText = typeof value === "string";
    if (isText && value !== "auto" && value !== "none") {
      throw new Refusal("must be auto, none, null or a whole number");
    }
    return { maxInFlight: ENDPOINT_FIELDS.maxInFlight.read(value) };
  },
};

const COUNT: Schema = { type: "integer", minimum: 0 };
const COUNT_OR_NULL: Schema = { type: ["integer", "null"], minimum: 0 };

const REPORT_PROPERTIES: Readonly<Record<string, Schema>> = {
  id: { type: "string" },
  state: { type: "string", enum: ENDPOINT_STATES },
  weight: { type: "number" },
  "in_flight": COUNT,
  limit: COUNT_OR_NULL,
  sessions: COUNT,
  "consecutive_failures": COUNT,
  "last_answer_age_ms": COUNT_OR_NULL,
  models: COUNT_OR_NULL,
};

const REPORT: Schema = {
  type: "object",
  required: Object.keys(REPORT_PROPERTIES),
  properties: REPORT_PROPERTIES,
};

/** Everything that can be done about endpoints. */
export function endpointOperations(control: EndpointControl): Operation[] {
  return [
    operation({
      method: "GET",
      path: "/endpoints",
      id: "listEndpoints",
      summary: "All endpoints as they are now",
      access: "token",
      members: {},
      answer: {
        doc: "The endpoints, in the order of the configuration",
        content: {
          type: "object",
          required: ["endpoints"],
          properties: { endpoints: { type: "array", items: REPORT } },
        },
      },
      run: () => ({ endpoints: control.list().map(shown) }),
    }),
    change(control, {
      name: "drain",
      summary: "Have an endpoint finish its requests and take no more",
      members: {},
      run: (id) => control.drain(id),
    }),
    change(control, {
      name: "restore",
      summary: "Let a drained endpoint take requests again, once it is well",
      members: {},
      run: (id) => control.restore(id),
    }),
    change(control, {
      name: "weight",
      summary: "Set the weight of an endpoint, on all workers",
      members: { weight: WEIGHT },
      run: (id, { weight }) => control.setWeight(id, weight),
    }),
    change(control, {
      name: "limit",
      summary: "Set how many requests an endpoint may have in flight",
      members: { limit: LIMIT },
      run: (id, { limit }) => control.setLimit(id, limit),
    }),
  ];
}

/** What tells one change from another. */
interface Change<M extends Members> {
  readonly name: string;
  readonly summary: string;
  /** What a body has besides the id. */
  readonly members: M;
  /** False when the id is not listed. */
  readonly run: (id: string, values: Values<M>) => boolean;
}

function change<M extends Members>(
  control: EndpointControl,
  { name, summary, members, run }: Change<M>,
): Operation {
  return operation({
    method: "POST",
    path: `/endpoints/${name}`,
    id: `${name}Endpoint`,
    summary,
    access: "token",
    members: { id: ID, ...members },
    answer: { doc: "The endpoint after that", content: REPORT },
    problems: { [STATUS_CODE.NotFound]: "No endpoint has this id" },
    run(values) {
      const { id } = values as Values<{ id: typeof ID }>;
      const isKnown = run(id, values as Values<M>);
      const report = control.list().find((report) => report.id === id);
      if (isKnown && report !== undefined) return shown(report);
      throw unknownEndpoint(control, `${name} endpoint`, id);
    },
  });
}

/** Says that an id is not listed, and what is. */
export function unknownEndpoint(
  control: Pick<EndpointControl, "list">,
  action: string,
  id: string,
): Problem {
  const known = control.list().map((report) => `"${report.id}"`);
  const hint = known.length === 0
    ? "none is known"
    : `known are ${known.join(", ")}`;
  return new Problem(
    STATUS_CODE.NotFound,
    `Cannot ${action} "${id}": ${hint}`,
  );
}

/** In the spelling of the configuration file. */
function shown(report: EndpointReport): Record<string, unknown> {
  return {
    id: report.id,
    state: report.state,
    weight: report.weight,
    "in_flight": report.inFlight,
    limit: report.limit ?? null,
    sessions: report.sessions,
    "consecutive_failures": report.consecutiveFailures,
    "last_answer_age_ms": report.lastAnswerAgeMs ?? null,
    models: report.models ?? null,
  };
}
