/**
 * What differs between two configurations, by path, as people write it.
 *
 * Paths come from the field table itself: it is assembled once more, each
 * field standing for its own value, and walked beside the two configurations.
 * So a new field is compared without a further line.
 *
 * Invariant: no value of a header is shown, as it may be a credential. The
 * order of endpoints is no difference, since nothing depends on it.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { HealthSettings } from "../core/endpoints/health_settings.ts";
import { assemble } from "./assemble.ts";
import type { Config } from "./config.ts";
import { durationText } from "./duration.ts";
import type { Field } from "./field.ts";
import { FIELDS } from "./fields.ts";
import { sizeText } from "./quantity.ts";

/** One difference. */
export interface ConfigChange {
  /** For example `routing.imbalance` or `endpoints[gpu0].weight`. */
  readonly path: string;
  /** As one would write it; `absent` for an endpoint that is new. */
  readonly from: string;
  readonly to: string;
  /** Whether it has no effect before the next start. */
  readonly needsRestart: boolean;
}

/** A value of a configuration, and the name that it has there. */
interface Leaf {
  /** With its unit at the end, such as `idleMs`. */
  readonly name: string;
  readonly value: unknown;
}

/** Longest value shown, in characters: one line of a log. */
const SHOWN_CHARS_MAX = 200;

/** What an endpoint is that is not listed. */
const ABSENT = "absent";

/** The admin listener is made once, with everything that it is told. */
const FIXED_SECTION = "admin.";

/** The fields whose value is fixed while the gateway runs. */
const FIXED: ReadonlySet<string> = new Set(
  Object.values<Field<unknown>>(FIELDS)
    .filter(({ needsRestart, path }) =>
      needsRestart === true || path.startsWith(FIXED_SECTION)
    )
    .map(({ path }) => path),
);

/** A configuration whose values are the paths of their fields. */
const PATHS: Config = assemble(<T>(field: Field<T>) => {
  const path: unknown = field.path === FIELDS.endpoints.path ? [] : field.path;
  return path as T;
});

/** All differences, those of the endpoints last. */
export function diffConfigs(from: Config, to: Config): ConfigChange[] {
  const former = leavesOf(from);
  const changes: ConfigChange[] = [];
  for (const [path, { name, value }] of leavesOf(to)) {
    const before = former.get(path)?.value;
    if (isSame(before, value)) continue;
    changes.push({
      path,
      from: shown(name, before),
      to: shown(name, value),
      needsRestart: FIXED.has(path),
    });
  }
  return [...changes, ...diffEndpoints(from, to)];
}

/** `wanted`, but for what is fixed while the gateway runs. */
export function keepFixed(wanted: Config, running: Config): Config {
  return merged(PATHS, wanted, running) as Config;
}

function merged(paths: unknown, wanted: unknown, running: unknown): unknown {
  if (typeof paths === "string") return FIXED.has(paths) ? running : wanted;
  if (Array.isArray(paths)) return wanted;
  const other = membersOf(running);
  const kept = new Map(membersOf(wanted));
  for (const [name, inner] of membersOf(paths)) {
    kept.set(name, merged(inner, kept.get(name), other.get(name)));
  }
  return Object.freeze(Object.fromEntries(kept));
}

/** Every value but the endpoints, by the path of its field. */
function leavesOf(config: Config): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>();
  const collect = (paths: unknown, { name, value }: Leaf): void => {
    if (typeof paths === "string") leaves.set(paths, { name, value });
    else if (!Array.isArray(paths)) {
      const values = membersOf(value);
      for (const [name, inner] of membersOf(paths)) {
        collect(inner, { name, value: values.get(name) });
      }
    }
  };
  collect(PATHS, { name: "", value: config });
  return leaves;
}

function diffEndpoints(from: Config, to: Config): ConfigChange[] {
  const former = byId(from.endpoints);
  const next = byId(to.endpoints);
  const changes: ConfigChange[] = [];
  const add = (path: string, from: string, to: string) =>
    changes.push({ path, from, to, needsRestart: false });
  for (const [id, spec] of former) {
    if (!next.has(id)) add(pathOf(id), urlOf(spec), ABSENT);
  }
  for (const [id, spec] of next) {
    const before = former.get(id);
    if (before === undefined) {
      add(pathOf(id), ABSENT, urlOf(spec));
      continue;
    }
    const own = ownValues(before, from.health);
    for (const [name, value] of ownValues(spec, to.health)) {
      const known = own.get(name);
      if (isSame(known, value)) continue;
      const key = keyOf(name);
      add(`${pathOf(id)}.${key}`, shown(name, known), shown(name, value));
    }
  }
  return changes;
}

/** What is said of one endpoint alone, by name. */
function ownValues(
  spec: EndpointSpec,
  general: HealthSettings,
): Map<string, unknown> {
  const { credential, health, maxInFlight, onDisconnect, weight } = spec;
  const values = new Map<string, unknown>([
    ["url", urlOf(spec)],
    ["weight", weight],
    ["maxInFlight", maxInFlight],
    ["onDisconnect", onDisconnect],
    ["credentialFile", credential?.file],
    ["credentialHeader", credential?.header],
  ]);
  const shared = membersOf(general);
  for (const [name, value] of membersOf(health)) {
    const isOwn = !isSame(value, shared.get(name));
    values.set(`health.${name}`, isOwn ? value : INHERITED);
  }
  return values;
}

/** Stands for a value that is that of all endpoints. */
const INHERITED = "as health";

function byId(specs: readonly EndpointSpec[]): Map<string, EndpointSpec> {
  return new Map(specs.map((spec) => [spec.id, spec]));
}

function pathOf(id: string): string {
  return `${FIELDS.endpoints.path}[${id}]`;
}

function urlOf({ address, basePath, host }: EndpointSpec): string {
  if (address.kind === "unix") return `unix:${address.path}`;
  return `${address.tls ? "https" : "http"}://${host}${basePath}`;
}

/** The key in the file of a name in the configuration. */
function keyOf(name: string): string {
  return name.replace(/(Ms|Bytes)$/, "")
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function membersOf(value: unknown): Map<string, unknown> {
  return new Map(Object.entries(value ?? {}));
}

/** Values are plain data, and their members come in the order of the code. */
function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A value as one would write it, without credentials, in one line. */
function shown(name: string, value: unknown): string {
  const text = textOf(name, value);
  return text.length > SHOWN_CHARS_MAX
    ? `${text.slice(0, SHOWN_CHARS_MAX)}...`
    : text;
}

function textOf(name: string, value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value === "number" && name.endsWith("Ms")) {
    return durationText(value);
  }
  if (typeof value === "number" && name.endsWith("Bytes")) {
    return sizeText(value);
  }
  if (Array.isArray(value)) return `[${value.map(itemText).join(", ")}]`;
  if (typeof value !== "object" || value === null) return String(value);
  const { hostname, port } = value as Partial<Config["listen"]>;
  return hostname === undefined ? "a mapping" : `${hostname}:${port}`;
}

/** An entry of a list; those of a list of headers are pairs. */
function itemText(item: unknown): string {
  return Array.isArray(item) ? `${item[0]}: ***` : String(item);
}
