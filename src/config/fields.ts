/**
 * The field table: every key of the configuration, in the order of the README.
 *
 * Adding a key is adding a field here and a line in `assemble.ts` that puts its
 * value into the `Config`.
 *
 * Invariant: each default passes its own reader, and a key that the
 * documentation promises for a later version is refused, never ignored.
 *
 * @module
 */
import { ADMIN_FIELDS } from "./admin.ts";
import { AUTH_FIELDS } from "./auth.ts";
import { Refusal } from "./complaint.ts";
import type { ListenAddress } from "./config.ts";
import { CORS_FIELDS } from "./cors.ts";
import { readDurationOrNone, readDurationOrZero } from "./duration.ts";
import { readEndpoints } from "./endpoints.ts";
import { ENGINE_METRICS_FIELDS } from "./engine_metrics.ts";
import { type Field, knownNames, type Spot } from "./field.ts";
import { FORWARDING_FIELDS } from "./forwarding.ts";
import { HEALTH_FIELDS } from "./health.ts";
import { readKeys } from "./keys.ts";
import { parseListenAddress } from "./listen_address.ts";
import { LOG_FIELDS } from "./log.ts";
import { parseInteger, parseNumber } from "./number.ts";
import { parseDurationMs, parseSizeBytes } from "./quantity.ts";
import { QUEUE_FIELDS } from "./queue.ts";
import { STATE_FIELDS } from "./state.ts";
import { readTenants } from "./tenants.ts";
import { TLS_FIELDS } from "./tls.ts";
import { TRACING_FIELDS } from "./tracing.ts";

/** Threads beyond the cores of the largest hosts only cost memory. */
const WORKERS_BOUNDS = { min: 1, max: 64 };

/** From one longest key to what one request may hold of a host's memory. */
const SNIFF_WINDOW_BOUNDS = { min: 2 ** 10, max: 2 ** 28 };

/** A limit under 1 KiB would refuse every chat; 1 TiB is as good as none. */
const BODY_BOUNDS = { min: 2 ** 10, max: 2 ** 40 };

/** A million requests are more than the ports of one client address. */
const REQUESTS_BOUNDS = { min: 1, max: 1_000_000 };

/** From one sniff window to what no host spares. */
const SNIFF_MEMORY_BOUNDS = { min: 2 ** 20, max: 2 ** 36 };

/** More attempts than endpoints of a host make no sense. */
const ATTEMPTS_BOUNDS = { min: 1, max: 8 };

const SHARE_BOUNDS = { min: 0, max: 1 };

/** Records of a bucket of the session table, which is never split. */
const BUCKET_RECORDS = 8;

/** From one bucket to a table of about 1 GiB. */
const CAPACITY_BOUNDS = { min: 1, max: 2 ** 24 };

/** 1 is strict evenness; from 100 on the bound never holds in practice. */
const IMBALANCE_BOUNDS = { min: 1, max: 100 };

/** Keys, and single values of keys, that this version knows but lacks. */
export const LATER: readonly {
  readonly path: string;
  /** Only this value is refused; without it the key as a whole is. */
  readonly value?: string;
}[] = [
  { path: "session.fallback", value: "conversation" },
];

/** The table. */
export const FIELDS = {
  listen: {
    path: "listen",
    initial: "0.0.0.0:8080",
    doc: "HOST:PORT that clients connect to",
    needsRestart: true,
    read: parseListenAddress,
  } satisfies Field<ListenAddress>,
  workers: {
    path: "workers",
    initial: "auto",
    doc: "Worker threads, 1 to 64, or auto for one for each core",
    needsRestart: true,
    read: readWorkers,
  },
  ...TLS_FIELDS,
  ...CORS_FIELDS,
  ...FORWARDING_FIELDS,
  ...ADMIN_FIELDS,
  ...AUTH_FIELDS,
  tenants: {
    path: "tenants",
    initial: {},
    doc: "What the tenants of API keys may: limits by name, as below, and" +
      " default for those that are not listed",
    read: readTenants,
  },
  endpoints: {
    path: "endpoints",
    initial: [],
    doc: "Engines to route to: a list of URLs, or of mappings as below",
    read: readEndpoints,
  },
  keys: {
    path: "session.keys",
    initial: ["default"],
    doc: "Session-key sources, best first; default is the built-in list",
    read: readKeys,
  },
  sniffWindow: {
    path: "session.sniff_window",
    initial: "1MiB",
    doc:
      "Bytes of a body held while its session key is unknown, 1KiB to 256MiB",
    read: (value) => parseSizeBytes(value, SNIFF_WINDOW_BOUNDS),
  } satisfies Field<number>,
  capacity: {
    path: "session.capacity",
    initial: 262_144,
    doc: "Sessions remembered, rounded up to a multiple of 8, at most 16777216",
    needsRestart: true,
    read: readCapacity,
  },
  idleTtl: {
    path: "session.idle_ttl",
    initial: "30m",
    doc: "Duration after which an idle session is forgotten",
    read: parseDurationMs,
  },
  fallback: {
    path: "session.fallback",
    initial: "power_of_two",
    doc: "Routing policy of requests without a session key",
    read: readPolicy,
  },
  policy: {
    path: "routing.policy",
    initial: "rendezvous",
    doc: "Routing policy of requests with a session key",
    read: readPolicy,
  },
  imbalance: {
    path: "routing.imbalance",
    initial: 1.25,
    doc: "Load relative to the mean above which an endpoint gets no new" +
      " session, 1 to 100",
    read: (value) => parseNumber(value, IMBALANCE_BOUNDS),
  } satisfies Field<number>,
  affinityPatience: {
    path: "routing.affinity_patience",
    initial: "15s",
    doc: "Duration that a request waits for its session's own endpoint before" +
      " it may be served elsewhere, or 0s",
    read: readDurationOrZero,
  },
  ...QUEUE_FIELDS,
  body: {
    path: "limits.body",
    initial: "256MiB",
    doc: "Largest request body, 1KiB to 1024GiB",
    read: (value) => parseSizeBytes(value, BODY_BOUNDS),
  } satisfies Field<number>,
  requests: {
    path: "limits.requests",
    initial: 32_768,
    doc: "Most requests at once, over all workers, 1 to 1000000",
    read: (value) => parseInteger(value, REQUESTS_BOUNDS),
  } satisfies Field<number>,
  sniffMemory: {
    path: "limits.sniff_memory",
    initial: "256MiB",
    doc: "Memory for bodies whose session key is unknown, over all workers," +
      " 1MiB to 64GiB",
    read: (value) => parseSizeBytes(value, SNIFF_MEMORY_BOUNDS),
  } satisfies Field<number>,
  attemptsMax: {
    path: "attempts.max",
    initial: 2,
    doc: "Most endpoints that one request is tried on, 1 to 8",
    read: (value) => parseInteger(value, ATTEMPTS_BOUNDS),
  } satisfies Field<number>,
  attemptsBudget: {
    path: "attempts.budget",
    initial: 0.2,
    doc: "Further attempts in relation to requests, 0 to 1",
    read: (value) => parseNumber(value, SHARE_BOUNDS),
  } satisfies Field<number>,
  stopReadyGrace: {
    path: "stop.ready_grace",
    initial: "0s",
    doc: "Duration for which readiness fails before the gateway stops" +
      " accepting, for a load balancer to notice, or 0s",
    read: readDurationOrZero,
  },
  stopDeadline: {
    path: "stop.deadline",
    initial: "30s",
    doc: "Duration that running requests get when the gateway stops",
    read: parseDurationMs,
  },
  connect: {
    path: "timeouts.connect",
    initial: "3s",
    doc: "Duration in which an endpoint must accept a connection",
    read: parseDurationMs,
  },
  firstByte: {
    path: "timeouts.first_byte",
    initial: "none",
    doc: "Duration in which an answer must begin, or none",
    read: readDurationOrNone,
  },
  idle: {
    path: "timeouts.idle",
    initial: "5m",
    doc: "Longest silence within an answer, a duration or none",
    read: readDurationOrNone,
  },
  bodyProgress: {
    path: "timeouts.body",
    initial: "60s",
    doc: "Longest wait for more of a request body, a duration or none; a body" +
      " up to 64KiB must come whole within it",
    read: readDurationOrNone,
  },
  queueTimeout: {
    path: "timeouts.queue",
    initial: "60s",
    doc: "Longest wait for a place on a full endpoint, a duration or none",
    read: readDurationOrNone,
  },
  ...HEALTH_FIELDS,
  ...ENGINE_METRICS_FIELDS,
  ...STATE_FIELDS,
  ...LOG_FIELDS,
  ...TRACING_FIELDS,
} satisfies Readonly<Record<string, Field<unknown>>>;

function readWorkers(value: unknown): number | "auto" {
  if (value === "auto") return value;
  try {
    return parseInteger(value, WORKERS_BOUNDS);
  } catch {
    // The parser's own message does not know of "auto".
    const { min, max } = WORKERS_BOUNDS;
    throw new Refusal(`must be auto or a whole number from ${min} to ${max}`);
  }
}

function readCapacity(value: unknown): number {
  const records = parseInteger(value, CAPACITY_BOUNDS);
  return Math.ceil(records / BUCKET_RECORDS) * BUCKET_RECORDS;
}

function readPolicy(value: unknown, { names }: Spot): string {
  if (typeof value === "string" && names.policyNames.includes(value)) {
    return value;
  }
  throw new Refusal(
    `must be a routing policy: ${knownNames(value, names.policyNames)}`,
  );
}
