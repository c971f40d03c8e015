/**
 * The gateway as a whole on the admin API: whether it lives and is ready, its
 * metrics and its status, and what can be told to it while it runs.
 *
 * Invariant: liveness and readiness need no token, as whoever asks for them
 * seldom has one, and say nothing that is worth one.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Refusal } from "../config/complaint.ts";
import type { LogLevel } from "../core/outside.ts";
import type { Member, Schema } from "./member.ts";
import { type Operation, operation, present } from "./operation.ts";
import { Problem } from "./problem.ts";
import { type ReadinessFacts, readinessOf } from "./readiness.ts";
import type { ReloadOutcome } from "./reload_outcome.ts";
import type { GatewayStatus } from "./status.ts";

/** What came of taking a snapshot of the sessions. */
export interface SnapshotOutcome {
  /** False when nothing had changed since the last one, which is told of. */
  readonly isNew: boolean;
  readonly sessions: number;
  readonly bytes: number;
  readonly tookMs: number;
}

/** The gateway as a whole; parts that are missing are answered with 501. */
export interface ProcessControl {
  readonly readiness: () => ReadinessFacts;
  /** Renders the metrics page. */
  readonly metrics: () => Promise<string>;
  readonly status?: () => GatewayStatus | Promise<GatewayStatus>;
  /** Has all threads log from this level on. */
  readonly setLogLevel?: (level: LogLevel) => void;
  /** Never rejects for what is wrong with the configuration. */
  readonly reload?: () => Promise<ReloadOutcome>;
  /** Rejects when it cannot be written. */
  readonly snapshot?: () => Promise<SnapshotOutcome>;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const LEVEL: Member<LogLevel> = {
  schema: { type: "string", enum: LEVELS },
  doc: "The least level that is logged",
  isOptional: false,
  read(value) {
    const level = LEVELS.find((known) => known === value);
    if (level !== undefined) return level;
    throw new Refusal(`must be one of ${LEVELS.join(", ")}`);
  },
};

const WHOLE: Schema = { type: "integer", minimum: 0 };
const TEXT: Schema = { type: "string" };
const LINES: Schema = { type: "array", items: TEXT };

const READINESS: Schema = {
  type: "object",
  required: ["status", "eligible", "total", "workers"],
  properties: {
    status: { type: "string", enum: ["ready", "not ready"] },
    reason: TEXT,
    eligible: WHOLE,
    total: WHOLE,
    workers: objectOf({ serving: WHOLE, wanted: WHOLE }),
    "config_refused": TEXT,
  },
};

/** The members of the status are those of the type in `status.ts`. */
const STATUS: Schema = {
  type: "object",
  required: ["version", "nowMs", "isReady", "endpoints", "queue", "traffic"],
};

/** Everything that can be asked of and told to the gateway as a whole. */
export function processOperations(control: ProcessControl): Operation[] {
  return [...healthOperations(control), ...changeOperations(control)];
}

function healthOperations(control: ProcessControl): Operation[] {
  return [
    operation({
      method: "GET",
      path: "/healthz",
      id: "getHealth",
      summary: "Whether the gateway lives",
      access: "open",
      members: {},
      answer: {
        doc: "It does",
        content: objectOf({ status: { type: "string", const: "alive" } }),
      },
      run: () => ({ status: "alive" }),
    }),
    operation({
      method: "GET",
      path: "/readyz",
      id: "getReadiness",
      summary: "Whether the gateway should be sent requests",
      access: "open",
      members: {},
      answer: {
        doc: "Ready with 200, not ready with 503",
        content: READINESS,
        statuses: [STATUS_CODE.OK, STATUS_CODE.ServiceUnavailable],
      },
      run: () => readinessAnswer(control.readiness()),
    }),
    operation({
      method: "GET",
      path: "/metrics",
      id: "getMetrics",
      summary: "Metrics in the text format of Prometheus",
      access: "metrics",
      members: {},
      answer: { doc: "The metrics", content: "text/plain" },
      run: async () =>
        new Response(await control.metrics(), {
          headers: { "content-type": "text/plain; version=0.0.4" },
        }),
    }),
    operation({
      method: "GET",
      path: "/status",
      id: "getStatus",
      summary: "What the gateway does at this moment",
      access: "token",
      members: {},
      answer: { doc: "The status", content: STATUS },
      problems: { [STATUS_CODE.NotImplemented]: "The gateway has none" },
      run: () => present(control.status, "status")(),
    }),
  ];
}

function changeOperations(control: ProcessControl): Operation[] {
  return [
    operation({
      method: "POST",
      path: "/log/level",
      id: "setLogLevel",
      summary: "Set how much is logged, on all threads",
      access: "token",
      members: { level: LEVEL },
      answer: { doc: "The level", content: objectOf({ level: LEVEL.schema }) },
      run({ level }) {
        present(control.setLogLevel, "log level to set")(level);
        return { level };
      },
    }),
    operation({
      method: "POST",
      path: "/reload",
      id: "reload",
      summary: "Read the configuration again and take it over",
      access: "token",
      members: {},
      answer: {
        doc: "What has changed",
        content: objectOf({
          outcome: { type: "string", enum: ["reloaded", "unchanged"] },
          changes: LINES,
          "needs_restart": LINES,
        }),
      },
      problems: {
        [STATUS_CODE.UnprocessableEntity]: "The configuration is refused",
      },
      run: async () =>
        reloadAnswer(
          await present(control.reload, "configuration to read again")(),
        ),
    }),
    operation({
      method: "POST",
      path: "/snapshot",
      id: "takeSnapshot",
      summary: "Save the sessions to the state directory now",
      access: "token",
      members: {},
      answer: {
        doc: "The latest snapshot, new unless nothing had changed",
        content: objectOf({
          new: { type: "boolean" },
          sessions: WHOLE,
          bytes: WHOLE,
          "took_ms": WHOLE,
        }),
      },
      async run() {
        const snapshot = present(control.snapshot, "state directory");
        const { bytes, isNew, sessions, tookMs } = await snapshot();
        const took = Math.round(tookMs);
        return { new: isNew, sessions, bytes, "took_ms": took };
      },
    }),
  ];
}

function readinessAnswer(facts: ReadinessFacts): Response {
  const readiness = readinessOf(facts);
  const isReady = readiness.status === "ready";
  return Response.json(readiness, {
    status: isReady ? STATUS_CODE.OK : STATUS_CODE.ServiceUnavailable,
  });
}

function reloadAnswer(
  { changes, complaints, kind, needsRestart }: ReloadOutcome,
): unknown {
  if (kind !== "refused") {
    return { outcome: kind, changes, "needs_restart": needsRestart };
  }
  throw new Problem(
    STATUS_CODE.UnprocessableEntity,
    complaints.join("\n") || "Cannot use the configuration: the log says why",
  );
}

/** A schema of an object that has all of these properties. */
function objectOf(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", required: Object.keys(properties), properties };
}
