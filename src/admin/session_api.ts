/**
 * The sessions on the admin API: found, pinned to an endpoint and forgotten by
 * their keys, and listed without them.
 *
 * Keys stand in bodies only, as URLs are logged by whatever is in between. An
 * answer names a session by the first 8 hex digits of a hash: `session` is that
 * of the key, as logs have it, and `record` that under which a pool keeps it.
 * They differ in pools that do not hold all endpoints.
 *
 * Invariant: no key is ever answered, nor any part of one.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Refusal } from "../config/complaint.ts";
import { isBlank } from "../core/bytes.ts";
import type { Member, Schema } from "./member.ts";
import { type Operation, operation, present } from "./operation.ts";
import { Problem } from "./problem.ts";

/** Which session; without a model, in all pools. */
export interface SessionQuery {
  readonly key: Uint8Array;
  readonly model: string | undefined;
  /** Whose session; must be given where clients need an API key, only there. */
  readonly tenant: string | undefined;
}

/** A session in one pool, as it is now; times in milliseconds. */
export interface SessionReport {
  /** First 8 hex digits of the hash under which the pool keeps it. */
  readonly record: string;
  /** Id of the bound endpoint; `undefined` for none, or one that is gone. */
  readonly endpoint: string | undefined;
  /** Since a call of it began or ended. */
  readonly lastUseAgeMs: number;
  readonly turns: number;
  readonly inFlight: number;
  /** Service of all its calls. */
  readonly attainedMs: number;
  /** Service on its critical path. */
  readonly criticalPathMs: number;
  readonly waitedMs: number;
}

/** What is known of one key. */
export interface FoundSession {
  /** First 8 hex digits of the key's hash. */
  readonly session: string;
  /** One for each pool that knows it, at most as many as there are pools. */
  readonly pools: readonly (SessionReport & { readonly pool: string })[];
}

/** What a list of sessions is made from. */
export interface SessionListQuery {
  /** Only those bound to this endpoint. */
  readonly endpoint: string | undefined;
  readonly limit: number;
}

/** Sessions, the last used first, and how many there are in all. */
export interface SessionList {
  readonly total: number;
  readonly sessions: readonly SessionReport[];
}

/** What can be seen and changed of sessions. */
export interface SessionControl {
  /** @throws {Problem} when nobody serves the model, or for the tenant. */
  find(query: SessionQuery): FoundSession;
  /**
   * Binds a session to an endpoint, in all pools of the query that have it.
   *
   * @throws {Problem} when none has, or nobody serves the model.
   */
  pin(query: SessionQuery, endpoint: string): FoundSession;
  /**
   * Ends a session; returns in how many pools there was one.
   *
   * @throws {Problem} when nobody serves the model.
   */
  forget(query: SessionQuery): number;
  /** Rejects with a `Problem` when the endpoint is not listed. */
  list(query: SessionListQuery): Promise<SessionList>;
}

/** A page of a terminal or two. */
const LIMIT_INITIAL = 100;

/** A megabyte of answer at most. */
const LIMIT_MAX = 1_000;

const KEY: Member<Uint8Array> = {
  // The blanks of JSON, which name no session.
  schema: { type: "string", pattern: "[^ \\t\\r\\n]" },
  doc: "The session key, as requests give it; after its filter, if it has one",
  isOptional: false,
  read(value) {
    const bytes = new TextEncoder().encode(
      typeof value === "string" ? value : "",
    );
    if (!isBlank(bytes)) return bytes;
    throw new Refusal("must be a session key, as text that is not blank");
  },
};

const MODEL: Member<string | undefined> = {
  schema: { type: "string", minLength: 1 },
  doc: "Model of the requests meant; without it, whatever their model",
  isOptional: true,
  read: (value) => textOf(value, "must be the name of a model, as text"),
};

const TENANT: Member<string | undefined> = {
  schema: { type: "string", minLength: 1 },
  doc: "Whose session; to be given where clients need an API key, only there",
  isOptional: true,
  read: (value) => textOf(value, "must be the name of a tenant, as text"),
};

const ENDPOINT: Member<string> = {
  schema: { type: "string", minLength: 1 },
  doc: "Id of the endpoint",
  isOptional: false,
  read: (value) => textOf(value, "must be the id of an endpoint, as text"),
};

const LIMIT: Member<number | undefined> = {
  schema: {
    type: "integer",
    minimum: 1,
    maximum: LIMIT_MAX,
    default: LIMIT_INITIAL,
  },
  doc: "Most sessions in the answer",
  isOptional: true,
  read(value) {
    const limit = Number(value);
    const isCount = typeof value === "string" && /^\d{1,4}$/.test(value);
    if (isCount && limit >= 1 && limit <= LIMIT_MAX) return limit;
    throw new Refusal(`must be a whole number from 1 to ${LIMIT_MAX}`);
  },
};

const WHOLE: Schema = { type: "integer", minimum: 0 };
const HASH: Schema = { type: "string", pattern: "^[0-9a-f]{8}$" };

const REPORT_PROPERTIES: Readonly<Record<string, Schema>> = {
  record: HASH,
  endpoint: { type: ["string", "null"] },
  "last_use_age_ms": WHOLE,
  turns: WHOLE,
  "in_flight": WHOLE,
  "attained_ms": WHOLE,
  "critical_path_ms": WHOLE,
  "waited_ms": WHOLE,
};

const REPORT = objectOf(REPORT_PROPERTIES);

const FOUND = objectOf({
  session: HASH,
  pools: {
    type: "array",
    items: objectOf({ pool: { type: "string" }, ...REPORT_PROPERTIES }),
  },
});

const FORGOTTEN = objectOf({ forgotten: WHOLE });

const MODEL_UNKNOWN = "Nobody serves the model, or no key is the tenant's";

/** What tells which session is meant. */
const QUERY = { key: KEY, model: MODEL, tenant: TENANT };

/** Everything that can be done about sessions. */
export function sessionOperations(
  control: SessionControl | undefined,
): Operation[] {
  const sessions = () => present(control, "table of sessions to look at");
  const forget = {
    summary: "Forget a session: its next request starts a new one",
    access: "token",
    members: QUERY,
    answer: { doc: "In how many pools there was one", content: FORGOTTEN },
    problems: { [STATUS_CODE.NotFound]: MODEL_UNKNOWN },
    run: (query: SessionQuery) => ({ forgotten: sessions().forget(query) }),
  } as const;
  return [
    listOperation(sessions),
    operation({
      method: "POST",
      path: "/sessions/find",
      id: "findSession",
      summary: "Find a session by its key",
      access: "token",
      members: QUERY,
      answer: { doc: "What each pool knows of it", content: FOUND },
      problems: {
        [STATUS_CODE.NotFound]:
          `No pool knows the session, or ${MODEL_UNKNOWN.toLowerCase()}`,
      },
      run(query) {
        const found = sessions().find(query);
        if (found.pools.length > 0) return shownFound(found);
        throw new Problem(
          STATUS_CODE.NotFound,
          `Cannot find session ${found.session}: it has not been seen, has` +
            " gone idle or was evicted",
        );
      },
    }),
    operation({
      method: "POST",
      path: "/sessions/pin",
      id: "pinSession",
      summary: "Bind a session to an endpoint, as if that had answered it",
      access: "token",
      members: { ...QUERY, endpoint: ENDPOINT },
      answer: { doc: "The session after that", content: FOUND },
      problems: {
        [STATUS_CODE.NotFound]: "No pool of the session has this endpoint",
        [STATUS_CODE.ServiceUnavailable]: "There is no room for the session",
      },
      run: (query) => shownFound(sessions().pin(query, query.endpoint)),
    }),
    operation({
      method: "POST",
      path: "/sessions/forget",
      id: "forgetSession",
      ...forget,
    }),
    operation({
      method: "DELETE",
      path: "/sessions",
      id: "deleteSession",
      ...forget,
    }),
  ];
}

function listOperation(sessions: () => SessionControl): Operation {
  return operation({
    method: "GET",
    path: "/sessions",
    id: "listSessions",
    summary: "Live sessions, the last used first",
    access: "token",
    members: { endpoint: { ...ENDPOINT, isOptional: true }, limit: LIMIT },
    answer: {
      doc: "Sessions, without their keys, and how many there are in all",
      content: objectOf({
        total: WHOLE,
        sessions: { type: "array", maxItems: LIMIT_MAX, items: REPORT },
      }),
    },
    problems: {
      [STATUS_CODE.NotFound]: "No endpoint has this id",
      [STATUS_CODE.NotImplemented]: "The gateway has no table of sessions",
      [STATUS_CODE.ServiceUnavailable]: "Too many look at the sessions",
    },
    async run({ endpoint, limit }) {
      const list = await sessions().list({
        endpoint,
        limit: limit ?? LIMIT_INITIAL,
      });
      return { total: list.total, sessions: list.sessions.map(shown) };
    },
  });
}

function shownFound({ pools, session }: FoundSession) {
  return {
    session,
    pools: pools.map(({ pool, ...report }) => ({ pool, ...shown(report) })),
  };
}

function shown(report: SessionReport): Record<string, unknown> {
  return {
    record: report.record,
    endpoint: report.endpoint ?? null,
    "last_use_age_ms": report.lastUseAgeMs,
    turns: report.turns,
    "in_flight": report.inFlight,
    "attained_ms": report.attainedMs,
    "critical_path_ms": report.criticalPathMs,
    "waited_ms": report.waitedMs,
  };
}

function textOf(value: unknown, wanted: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new Refusal(wanted);
}

/** A schema of an object that has all of these properties. */
function objectOf(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", required: Object.keys(properties), properties };
}
