/**
 * The keys under `health`, for all endpoints and for single ones.
 *
 * Invariant: both places read a key through the same field, and the value of a
 * header never gets into a complaint.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { HealthSettings } from "../core/endpoints/health_settings.ts";
import type { Header, HeaderList } from "../core/request.ts";
import { Refusal, shownKey } from "./complaint.ts";
import { durationText } from "./duration.ts";
import {
  complain,
  type Field,
  knownNames,
  readOr,
  type Spot,
} from "./field.ts";
import { parseInteger } from "./number.ts";
import { parseDurationMs } from "./quantity.ts";
import { isRequestPath } from "./request_path.ts";

/** More in a row is days of probing, or a typing error. */
const THRESHOLD_BOUNDS = { min: 1, max: 1_000 };

/** Traffic fails more often than probes do. */
const FAILURES_BOUNDS = { min: 1, max: 1_000_000 };

/** A header name is a token (RFC 9110, 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/** Visible ASCII and blanks within: what every server takes as a value. */
const VALUE = /^[!-~]([ -~]{0,4094}[!-~])?$/;

/** A credential, a tenant, a version: nobody needs as many as this. */
const HEADERS_MAX = 16;

/** Headers that the probe writes itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "host",
  "transfer-encoding",
]);

/** Shown in the place of what may be a credential. */
const HIDDEN = "***";

/** The keys of a `health` section, by the setting that each fills. */
export const HEALTH_FIELDS: {
  readonly [K in keyof HealthSettings]: Field<HealthSettings[K]>;
} = {
  path: {
    path: "health.path",
    initial: "auto",
    doc: "Path of probes; auto is /health, or /v1/models where that is missing",
    read: parsePath,
  },
  intervalMs: {
    path: "health.interval",
    initial: "5s",
    doc: "Duration between two probes of an endpoint that is ready",
    read: parseDurationMs,
  },
  timeoutMs: {
    path: "health.timeout",
    initial: "2s",
    doc: "Duration that a probe may take",
    read: parseDurationMs,
  },
  healthyThreshold: {
    path: "health.healthy_threshold",
    initial: 1,
    doc: "Probes passed in a row that make an endpoint ready, 1 to 1000",
    read: (value) => parseInteger(value, THRESHOLD_BOUNDS),
  },
  unhealthyThreshold: {
    path: "health.unhealthy_threshold",
    initial: 3,
    doc: "Probes failed in a row that eject an endpoint, 1 to 1000",
    read: (value) => parseInteger(value, THRESHOLD_BOUNDS),
  },
  failures: {
    path: "health.failures",
    initial: 3,
    doc: "Requests in a row that fail by connecting, a reset or a timeout and" +
      " eject an endpoint unless it is the last, 1 to 1000000",
    read: (value) => parseInteger(value, FAILURES_BOUNDS),
  },
  backoffMs: {
    path: "health.backoff",
    initial: "1s",
    doc: "Duration until an ejected endpoint is probed, doubled with each" +
      " failure",
    read: parseDurationMs,
  },
  backoffMaxMs: {
    path: "health.backoff_max",
    initial: "1m",
    doc: "Longest duration that backoff doubles up to",
    read: parseDurationMs,
  },
  headers: {
    path: "health.headers",
    initial: {},
    doc: "Headers of probes, such as a credential: a mapping of name to value",
    read: readHeaders,
  },
};

/** The settings of an endpoint that differ from those of all. */
export type HealthOverrides = Partial<HealthSettings>;

/**
 * Reads `endpoints[].health`.
 *
 * @throws {Refusal} when `value` is not a mapping.
 */
export function readHealthOverrides(
  value: unknown,
  spot: Spot,
): HealthOverrides {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refusal("must be a mapping of keys as in health");
  }
  const given = new Map<string, unknown>(Object.entries(value));
  const overrides: {
    -readonly [K in keyof HealthSettings]?: HealthSettings[K];
  } = {};
  const take = <K extends keyof HealthSettings>(key: K, inner: unknown) => {
    const field = HEALTH_FIELDS[key];
    const inside = { ...spot, origin: `${spot.origin}.${nameOf(field)}` };
    overrides[key] = readOr<HealthSettings[K]>(inside, { value: inner }, {
      read: () => field.read(inner, inside),
      otherwise: () => field.read(field.initial, inside),
    });
  };
  for (const key of keys()) {
    const name = nameOf(HEALTH_FIELDS[key]);
    if (given.has(name)) take(key, given.get(name));
    given.delete(name);
  }
  const known = Object.values(HEALTH_FIELDS).map(nameOf);
  for (const key of given.keys()) {
    const wanted = `is not a known key: ${knownNames(key, known)}`;
    complain(spot, { at: `.${shownKey(key)}`, value: HIDDEN }, wanted);
  }
  return overrides;
}

/**
 * Complains on settings that contradict each other: those of all endpoints,
 * and those of single ones together with what they inherit.
 *
 * @param spot At the configuration as a whole.
 */
export function checkHealth(
  general: HealthSettings,
  endpoints: readonly EndpointSpec[],
  spot: Spot,
): void {
  checkBackoff(general, { ...spot, origin: "health" });
  for (const { health, id } of endpoints) {
    const isInherited = health.backoffMs === general.backoffMs &&
      health.backoffMaxMs === general.backoffMaxMs;
    // What is wrong for all is told once.
    if (isInherited) continue;
    checkBackoff(health, { ...spot, origin: `endpoints[${id}].health` });
  }
}

function checkBackoff(health: HealthSettings, spot: Spot): void {
  if (health.backoffMaxMs >= health.backoffMs) return;
  const value = durationText(health.backoffMaxMs);
  const backoff = durationText(health.backoffMs);
  const wanted = `must not be below backoff, which is ${backoff}`;
  complain(spot, { at: ".backoff_max", value }, wanted);
}

function keys(): (keyof HealthSettings)[] {
  return Object.keys(HEALTH_FIELDS) as (keyof HealthSettings)[];
}

/** The key within its section. */
function nameOf({ path }: { readonly path: string }): string {
  return path.slice(path.indexOf(".") + 1);
}

function parsePath(value: unknown): string {
  if (value === "auto") return value;
  if (isRequestPath(value)) return value;
  throw new Refusal("must be auto or a path such as /health");
}

/** Complains on its own, as the value itself must not be shown. */
function readHeaders(value: unknown, spot: Spot): HeaderList {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    complain(spot, { value: HIDDEN }, "must be a mapping of name to value");
    return [];
  }
  const headers: Header[] = [];
  for (const [name, text] of Object.entries(value)) {
    const problem = headerProblem(name, text);
    if (problem === undefined) headers.push([name.toLowerCase(), String(text)]);
    else {
      complain(spot, { at: `.${shownKey(name)}`, value: HIDDEN }, problem);
    }
  }
  if (headers.length > HEADERS_MAX) {
    complain(spot, { value: HIDDEN }, `must name at most ${HEADERS_MAX}`);
  }
  return headers;
}

function headerProblem(name: string, text: unknown): string | undefined {
  if (!NAME.test(name)) return "must have a header name";
  if (OWN_HEADERS.has(name.toLowerCase())) return "is written by the probe";
  return typeof text === "string" && VALUE.test(text)
    ? undefined
    : "must be a text of visible ASCII characters";
}
