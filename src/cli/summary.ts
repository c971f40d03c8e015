/**
 * A configuration as text, for people who want to see what is in effect.
 *
 * Invariant: every key is shown under its name in the file, in the spelling
 * that the file takes, but for the values of headers, which may be secret.
 *
 * @module
 */
import type { Config, ListenAddress } from "../config/config.ts";
import { sizeText } from "../config/quantity.ts";
import type { TenantSettings } from "../config/tenants.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { HealthSettings } from "../core/endpoints/health_settings.ts";

/** Units of durations, largest first, in milliseconds. */
const DURATION_UNITS: readonly (readonly [string, number])[] = [
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
];

/** A key and its value. */
type Row = [key: string, value: string | number];

/** One line a key, then one line an endpoint and a session-key source. */
export function summaryLines(config: Config): string[] {
  const { session, routing, timeouts } = config;
  const rows: Row[] = [
    ["listen", addressText(config.listen)],
    ["workers", config.workers],
    ...borderRows(config),
    ["admin.listen", addressText(config.admin.listen)],
    ["admin.token_file", config.admin.tokenFile ?? "none"],
    ["admin.metrics_open", String(config.admin.metricsOpen)],
    ["auth.keys_file", config.auth.keysFile ?? "none"],
    ["session.sniff_window", sizeText(session.sniffWindowBytes)],
    ["session.capacity", session.capacity],
    ["session.idle_ttl", durationText(session.idleTtlMs)],
    ["session.fallback", session.fallback],
    ["state.directory", config.state.directory ?? "none"],
    ["state.interval", durationText(config.state.intervalMs)],
    ["routing.policy", routing.policy],
    ["routing.imbalance", routing.imbalance],
    ["routing.affinity_patience", durationText(routing.affinityPatienceMs)],
    ...queueRows(config.queue),
    ["limits.body", sizeText(config.limits.bodyBytes)],
    ["limits.requests", config.limits.requests],
    ["limits.sniff_memory", sizeText(config.limits.sniffMemoryBytes)],
    ["attempts.max", config.attempts.max],
    ["attempts.budget", config.attempts.budget],
    ["stop.ready_grace", durationText(config.stop.readyGraceMs)],
    ["stop.deadline", durationText(config.stop.deadlineMs)],
    ["timeouts.connect", durationText(timeouts.connectMs)],
    ["timeouts.first_byte", durationText(timeouts.firstByteMs)],
    ["timeouts.idle", durationText(timeouts.idleMs)],
    ["timeouts.body", durationText(timeouts.bodyMs)],
    ["timeouts.queue", durationText(timeouts.queueMs)],
    ...healthRows(config.health),
    ["engine_metrics.path", config.engineMetrics.path ?? "none"],
    ["engine_metrics.interval", durationText(config.engineMetrics.intervalMs)],
    ["log.level", config.log.level],
    ["log.format", config.log.format],
    ["log.access", config.log.access],
    ["log.sample", config.log.sample],
    ["tracing.endpoint", config.tracing.endpoint ?? "none"],
    ["tracing.sample", config.tracing.sample],
    ["endpoints", config.endpoints.length],
  ];
  const width = Math.max(...rows.map(([key]) => key.length));
  return [
    ...rows.map(([key, value]) => `${key.padEnd(width)}  ${value}`),
    ...config.endpoints.map((spec) => `  ${endpointText(spec)}`),
    `${"tenants".padEnd(width)}  ${config.tenants.listed.length}`,
    `  default ${tenantText(config.tenants.others)}`,
    ...config.tenants.listed.map(({ name, settings }) =>
      `  ${name} ${tenantText(settings)}`
    ),
    `${"session.keys".padEnd(width)}  ${session.keys.length}`,
    ...session.keys.map((source) => `  ${source}`),
  ];
}

function borderRows({ cors, forwarding, tls }: Config): Row[] {
  const { redirectListen } = tls;
  return [
    ["tls.cert_file", tls.certFile ?? "none"],
    ["tls.key_file", tls.keyFile ?? "none"],
    [
      "tls.redirect_listen",
      redirectListen === undefined ? "none" : addressText(redirectListen),
    ],
    ["cors.origins", listText(cors.origins)],
    ["cors.credentials", String(cors.credentials)],
    ["forwarding.trusted_proxies", listText(forwarding.trustedProxies)],
    ["forwarding.proxy_fields", forwarding.proxyFields],
    ["forwarding.allow_headers", listText(forwarding.allowHeaders)],
    ["forwarding.hide_headers", listText(forwarding.hideHeaders)],
  ];
}

function listText(entries: readonly string[]): string {
  return `[${entries.join(", ")}]`;
}

function queueRows(queue: Config["queue"]): Row[] {
  return [
    ["queue.policy", queue.policy],
    ["queue.max", queue.max],
    ["queue.session_max", queue.sessionMax],
    ["queue.boost_ratio", queue.boostRatio],
    ["queue.overdue", durationText(queue.overdueMs)],
    ["queue.keepalive", durationText(queue.keepaliveMs)],
    ["queue.priority_min", queue.priorityMin],
    ["queue.priority_max", queue.priorityMax],
  ];
}

function healthRows(health: HealthSettings): Row[] {
  return [
    ["health.path", health.path],
    ["health.interval", durationText(health.intervalMs)],
    ["health.timeout", durationText(health.timeoutMs)],
    ["health.healthy_threshold", health.healthyThreshold],
    ["health.unhealthy_threshold", health.unhealthyThreshold],
    ["health.failures", health.failures],
    ["health.backoff", durationText(health.backoffMs)],
    ["health.backoff_max", durationText(health.backoffMaxMs)],
    ["health.headers", headersText(health)],
  ];
}

/** The names alone: a value may be a credential. */
function headersText({ headers }: HealthSettings): string {
  return headers.length === 0
    ? "none"
    : headers.map(([name]) => `${name}: ***`).join(", ");
}

function addressText({ hostname, port }: ListenAddress): string {
  return hostname.includes(":")
    ? `[${hostname}]:${port}`
    : `${hostname}:${port}`;
}

function endpointText({ id, weight, maxInFlight }: EndpointSpec): string {
  return `${id} weight ${weight}, max_in_flight ${maxInFlight ?? "none"}`;
}

/** What a tenant may, without what it may have as much of as it wants. */
function tenantText(settings: TenantSettings): string {
  const { bodyBytes, key, models } = settings;
  const limits: [name: string, value: string | number | undefined][] = [
    ["requests_per_second", settings.rate?.perSecond],
    ["burst", settings.rate?.burst],
    ["concurrent", settings.concurrent],
    ["queued", settings.queued],
    ["body", bodyBytes === undefined ? undefined : sizeText(bodyBytes)],
    ["priority_max", settings.priorityMax],
    ["models", models && `[${models.join(", ")}]`],
    ["key_requests_per_second", key.rate?.perSecond],
    ["key_burst", key.rate?.burst],
    ["key_concurrent", key.concurrent],
  ];
  const set = limits.filter(([, value]) => value !== undefined);
  if (set.length === 0) return "unlimited";
  return set.map(([name, value]) => `${name} ${value}`).join(", ");
}

function durationText(ms: number | undefined): string {
  if (ms === undefined) return "none";
  if (ms === 0) return "0s";
  for (const [unit, unitMs] of DURATION_UNITS) {
    if (ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${ms}ms`;
}
