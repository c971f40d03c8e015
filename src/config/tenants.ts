/**
 * The mapping `tenants`: what each tenant may use, by its name in the file of
 * API keys, and `default` for those that are not listed.
 *
 * Invariant: a setting that a listed tenant lacks is that of `default`, so a
 * limit for everybody is written once, and lifted with `none`. Rates and their
 * bursts belong together and are taken over together.
 *
 * @module
 */
import { DEFAULT_TENANT, TENANT_NAME, TENANTS_MAX } from "../core/tenant.ts";
import type { BucketLimit } from "../core/tenants/token_bucket.ts";
import { Refusal, shownKey } from "./complaint.ts";
import {
  complain,
  type Field,
  knownNames,
  readOr,
  type Spot,
} from "./field.ts";
import { parseInteger, parseNumber } from "./number.ts";
import { parseSizeBytes } from "./quantity.ts";

/** From one a quarter of an hour to what no gateway takes. */
const RATE_BOUNDS = { min: 0.001, max: 100_000 };

const BURST_BOUNDS = { min: 1, max: 1_000_000 };

/** As `limits.requests`; 0 keeps a tenant out. */
const CONCURRENT_BOUNDS = { min: 0, max: 1_000_000 };

/** As `queue.max`; 0 never waits. */
const QUEUED_BOUNDS = { min: 0, max: 100_000 };

/** As `limits.body`. */
const BODY_BOUNDS = { min: 2 ** 10, max: 2 ** 40 };

/** As `queue.priority_max`. */
const PRIORITY_BOUNDS = { min: -29, max: 29 };

/** A list that is looked through on every request. */
const MODELS_MAX = 256;

/** Longest model name that the scanner of bodies takes for one. */
const MODEL_CHARS_MAX = 1_024;

/** Limits of a tenant, or of one of its keys alone; `undefined` is none. */
export interface UseLimits {
  readonly rate: BucketLimit | undefined;
  /** Most requests at once. */
  readonly concurrent: number | undefined;
  /** Most requests that wait for an endpoint at once. */
  readonly queued: number | undefined;
  readonly bodyBytes: number | undefined;
}

/** What one tenant may. */
export interface TenantSettings extends UseLimits {
  /** In place of `queue.priority_max`. */
  readonly priorityMax: number | undefined;
  /** The models that it may ask for; `undefined` for all. */
  readonly models: readonly string[] | undefined;
  /** What each of its keys may. */
  readonly key: UseLimits;
}

/** What all tenants may. */
export interface TenantsSettings {
  readonly others: TenantSettings;
  /** Those that are listed, at most `TENANTS_MAX`. */
  readonly listed: readonly {
    readonly name: string;
    readonly settings: TenantSettings;
  }[];
}

/** The keys of an entry of `tenants`. */
export const TENANT_FIELDS = {
  requests_per_second: {
    path: "requests_per_second",
    initial: "none",
    doc: "Requests a second, 0.001 to 100000, or none",
    read: orNone((value) => parseNumber(value, RATE_BOUNDS)),
  },
  burst: {
    path: "burst",
    initial: "requests_per_second",
    doc: "Requests that may come at once after a pause, 1 to 1000000",
    read: orNone((value) => parseInteger(value, BURST_BOUNDS)),
  },
  concurrent: {
    path: "concurrent",
    initial: "none",
    doc: "Requests at once, over all workers, 0 to 1000000, or none",
    read: orNone((value) => parseInteger(value, CONCURRENT_BOUNDS)),
  },
  queued: {
    path: "queued",
    initial: "none",
    doc: "Requests that wait for an endpoint at once, 0 to 100000, or none",
    read: orNone((value) => parseInteger(value, QUEUED_BOUNDS)),
  },
  body: {
    path: "body",
    initial: "none",
    doc: "Largest request body below limits.body, 1KiB to 1024GiB, or none",
    read: orNone((value) => parseSizeBytes(value, BODY_BOUNDS)),
  },
  priority_max: {
    path: "priority_max",
    initial: "none",
    doc: "Highest priority that it can ask for in place of" +
      " queue.priority_max, -29 to 29, or none",
    read: orNone((value) => parseInteger(value, PRIORITY_BOUNDS)),
  },
  models: {
    path: "models",
    initial: "none",
    doc: "List of the models that it may ask for, or none for no bound",
    read: orNone(readModels),
  },
  key_requests_per_second: {
    path: "key_requests_per_second",
    initial: "none",
    doc: "As requests_per_second, for each of its keys",
    read: orNone((value) => parseNumber(value, RATE_BOUNDS)),
  },
  key_burst: {
    path: "key_burst",
    initial: "key_requests_per_second",
    doc: "As burst, for each of its keys",
    read: orNone((value) => parseInteger(value, BURST_BOUNDS)),
  },
  key_concurrent: {
    path: "key_concurrent",
    initial: "none",
    doc: "As concurrent, for each of its keys",
    read: orNone((value) => parseInteger(value, CONCURRENT_BOUNDS)),
  },
  key_queued: {
    path: "key_queued",
    initial: "none",
    doc: "As queued, for each of its keys",
    read: orNone((value) => parseInteger(value, QUEUED_BOUNDS)),
  },
  key_body: {
    path: "key_body",
    initial: "none",
    doc: "As body, for each of its keys",
    read: orNone((value) => parseSizeBytes(value, BODY_BOUNDS)),
  },
} satisfies Readonly<Record<string, Field<unknown>>>;

/**
 * Reads the mapping.
 *
 * @throws {Refusal} when `value` is none, or names too many tenants.
 */
export function readTenants(value: unknown, spot: Spot): TenantsSettings {
  const entries = entriesOf(value);
  if (entries === undefined) {
    throw new Refusal("must be a mapping of tenants to their limits");
  }
  if (entries.length > TENANTS_MAX) {
    throw new Refusal(`must name at most ${TENANTS_MAX} tenants`);
  }
  const given = entries.find(([name]) => name === DEFAULT_TENANT)?.[1];
  const others = readTenant(given ?? {}, at(spot, DEFAULT_TENANT), new Map());
  const listed = [];
  for (const [name, entry] of entries) {
    if (name === DEFAULT_TENANT) continue;
    const inside = at(spot, name);
    if (!TENANT_NAME.test(name)) {
      const wanted = "must be named by 1 to 64 letters, digits, . _ or -";
      complain(inside, { value: name }, wanted);
    }
    const read = readTenant(entry ?? {}, inside, others.values);
    listed.push({ name, settings: read.settings });
  }
  return { others: others.settings, listed };
}

/** Values as read, by key. */
type Values = ReadonlyMap<string, unknown>;

function readTenant(
  entry: unknown,
  spot: Spot,
  others: Values,
): { readonly settings: TenantSettings; readonly values: Values } {
  const own = new Map<string, unknown>();
  const entries = entriesOf(entry);
  if (entries === undefined) {
    complain(spot, { value: entry }, "must be a mapping of limits");
  }
  const fields: Readonly<Record<string, Field<unknown>>> = TENANT_FIELDS;
  for (const [key, value] of entries ?? []) {
    const inside = at(spot, key);
    if (!Object.hasOwn(fields, key)) {
      const hint = knownNames(key, Object.keys(fields));
      complain(inside, { value }, `is not a known key: ${hint}`);
      continue;
    }
    own.set(
      key,
      readOr(inside, { value }, {
        read: () => fields[key]?.read(value, inside),
        otherwise: () => undefined,
      }),
    );
  }
  const values = new Map([...inherited(others, own), ...own]);
  checkBursts(values, spot);
  return { settings: settingsOf(values), values };
}

/** Without the burst of a rate that is set anew. */
function inherited(others: Values, own: Values): [string, unknown][] {
  return [...others].filter(([key]) =>
    !(key === "burst" && own.has("requests_per_second")) &&
    !(key === "key_burst" && own.has("key_requests_per_second"))
  );
}

function checkBursts(values: Values, spot: Spot): void {
  for (const prefix of ["", "key_"]) {
    const burst = values.get(`${prefix}burst`);
    const rate = `${prefix}requests_per_second`;
    if (burst === undefined || values.get(rate) !== undefined) continue;
    const inside = at(spot, `${prefix}burst`);
    complain(inside, { value: burst }, `needs "${rate}" beside it`);
  }
}

function settingsOf(values: Values): TenantSettings {
  const read = <Name extends keyof typeof TENANT_FIELDS>(name: Name) =>
    values.get(name) as ReturnType<typeof TENANT_FIELDS[Name]["read"]>;
  return {
    rate: rateOf(read("requests_per_second"), read("burst")),
    concurrent: read("concurrent"),
    queued: read("queued"),
    bodyBytes: read("body"),
    priorityMax: read("priority_max"),
    models: read("models"),
    key: {
      rate: rateOf(read("key_requests_per_second"), read("key_burst")),
      concurrent: read("key_concurrent"),
      queued: read("key_queued"),
      bodyBytes: read("key_body"),
    },
  };
}

function rateOf(
  perSecond: number | undefined,
  burst: number | undefined,
): BucketLimit | undefined {
  if (perSecond === undefined) return undefined;
  return { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) };
}

function readModels(value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.length <= MODELS_MAX &&
    value.every((name) =>
      typeof name === "string" && name !== "" && name.length <= MODEL_CHARS_MAX
    );
  if (isList) return value;
  throw new Refusal(`must be a list of at most ${MODELS_MAX} model names`);
}

/** `none` as `undefined`. */
function orNone<T>(read: (value: unknown) => T) {
  return (value: unknown): T | undefined =>
    value === "none" ? undefined : read(value);
}

function at(spot: Spot, key: string): Spot {
  return { ...spot, origin: `${spot.origin}.${shownKey(key)}` };
}

function entriesOf(value: unknown): [string, unknown][] | undefined {
  const isMapping = typeof value === "object" && value !== null &&
    !Array.isArray(value);
  return isMapping ? Object.entries(value) : undefined;
}
