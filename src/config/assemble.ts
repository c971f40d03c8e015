/**
 * Puts the values of all fields into a `Config`, each in its place.
 *
 * Invariant: a field that is not read here has no effect, and the types see to
 * it that every place is filled.
 *
 * @module
 */
import type { HealthSettings } from "../core/endpoints/health_settings.ts";
import type { Config } from "./config.ts";
import type { Field } from "./field.ts";
import { FIELDS } from "./fields.ts";
import { HEALTH_FIELDS } from "./health.ts";

/** Reads a field's value as given, or its default. */
export type ReadField = <T>(field: Field<T>) => T;

/** Reads every field. */
export function assemble(read: ReadField): Config {
  const health = assembleHealth(read);
  return {
    listen: read(FIELDS.listen),
    workers: read(FIELDS.workers),
    ...assembleBorder(read),
    admin: {
      listen: read(FIELDS.adminListen),
      tokenFile: read(FIELDS.adminTokenFile),
      metricsOpen: read(FIELDS.adminMetricsOpen),
    },
    auth: { keysFile: read(FIELDS.authKeysFile) },
    tenants: read(FIELDS.tenants),
    health,
    endpoints: read(FIELDS.endpoints).map((listed) => ({
      ...listed,
      health: { ...health, ...listed.health },
    })),
    session: {
      keys: read(FIELDS.keys),
      sniffWindowBytes: read(FIELDS.sniffWindow),
      capacity: read(FIELDS.capacity),
      idleTtlMs: read(FIELDS.idleTtl),
      fallback: read(FIELDS.fallback),
    },
    state: {
      directory: read(FIELDS.stateDirectory),
      intervalMs: read(FIELDS.stateInterval),
    },
    routing: {
      policy: read(FIELDS.policy),
      imbalance: read(FIELDS.imbalance),
      affinityPatienceMs: read(FIELDS.affinityPatience),
    },
    queue: assembleQueue(read),
    limits: {
      bodyBytes: read(FIELDS.body),
      requests: read(FIELDS.requests),
      sniffMemoryBytes: read(FIELDS.sniffMemory),
    },
    attempts: {
      max: read(FIELDS.attemptsMax),
      budget: read(FIELDS.attemptsBudget),
    },
    stop: {
      readyGraceMs: read(FIELDS.stopReadyGrace),
      deadlineMs: read(FIELDS.stopDeadline),
    },
    timeouts: assembleTimeouts(read),
    engineMetrics: {
      path: read(FIELDS.engineMetricsPath),
      intervalMs: read(FIELDS.engineMetricsInterval),
    },
    log: {
      level: read(FIELDS.logLevel),
      format: read(FIELDS.logFormat),
      access: read(FIELDS.logAccess),
      sample: read(FIELDS.logSample),
    },
    tracing: {
      endpoint: read(FIELDS.tracingEndpoint),
      sample: read(FIELDS.tracingSample),
    },
  };
}

/** What is between the gateway and those who connect to it. */
function assembleBorder(
  read: ReadField,
): Pick<Config, "cors" | "forwarding" | "tls"> {
  return {
    tls: {
      certFile: read(FIELDS.tlsCertFile),
      keyFile: read(FIELDS.tlsKeyFile),
      redirectListen: read(FIELDS.tlsRedirectListen),
    },
    cors: {
      origins: read(FIELDS.corsOrigins),
      credentials: read(FIELDS.corsCredentials),
    },
    forwarding: {
      trustedProxies: read(FIELDS.trustedProxies),
      proxyFields: read(FIELDS.proxyFields),
      allowHeaders: read(FIELDS.allowHeaders),
      hideHeaders: read(FIELDS.hideHeaders),
    },
  };
}

function assembleTimeouts(read: ReadField): Config["timeouts"] {
  return {
    connectMs: read(FIELDS.connect),
    firstByteMs: read(FIELDS.firstByte),
    idleMs: read(FIELDS.idle),
    bodyMs: read(FIELDS.bodyProgress),
    queueMs: read(FIELDS.queueTimeout),
  };
}

function assembleHealth(read: ReadField): HealthSettings {
  return {
    path: read(HEALTH_FIELDS.path),
    intervalMs: read(HEALTH_FIELDS.intervalMs),
    timeoutMs: read(HEALTH_FIELDS.timeoutMs),
    healthyThreshold: read(HEALTH_FIELDS.healthyThreshold),
    unhealthyThreshold: read(HEALTH_FIELDS.unhealthyThreshold),
    failures: read(HEALTH_FIELDS.failures),
    backoffMs: read(HEALTH_FIELDS.backoffMs),
    backoffMaxMs: read(HEALTH_FIELDS.backoffMaxMs),
    headers: read(HEALTH_FIELDS.headers),
  };
}

function assembleQueue(read: ReadField): Config["queue"] {
  return {
    policy: read(FIELDS.queuePolicy),
    max: read(FIELDS.queueMax),
    sessionMax: read(FIELDS.queueSessionMax),
    boostRatio: read(FIELDS.queueBoostRatio),
    overdueMs: read(FIELDS.queueOverdue),
    keepaliveMs: read(FIELDS.queueKeepalive),
    priorityMin: read(FIELDS.queuePriorityMin),
    priorityMax: read(FIELDS.queuePriorityMax),
  };
}
