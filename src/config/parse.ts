/**
 * Unknown value in, configuration or complaints out.
 *
 * Invariant: everything that is wrong is told at once, and what is told names
 * the place it came from; nothing of a refused configuration is used.
 *
 * @module
 */
import { assemble, type ReadField } from "./assemble.ts";
import { type Complaint, shownKey } from "./complaint.ts";
import type { Config, ConfigNames } from "./config.ts";
import {
  complain,
  type Field,
  knownNames,
  readOr,
  type Spot,
} from "./field.ts";
import { nearestName } from "./nearest.ts";
import { FIELDS, LATER } from "./fields.ts";
import { checkCors } from "./cors.ts";
import { checkHealth } from "./health.ts";
import { addressesCollide } from "./listen_address.ts";
import { checkQueue, followQueue } from "./queue.ts";
import { checkTls } from "./tls.ts";

/** A value from a flag or a variable; it replaces the file's. */
export interface Override {
  /** The key that it stands for, for example `admin.listen`. */
  readonly path: string;
  /** How complaints name it, for example `--admin`. */
  readonly origin: string;
  readonly value: string | readonly string[];
}

/** What parsing came to. */
export type ParseResult =
  | { readonly kind: "accepted"; readonly config: Config }
  | { readonly kind: "refused"; readonly complaints: readonly Complaint[] };

/** A value as found, and where. */
interface Given {
  readonly origin: string;
  readonly value: unknown;
}

/**
 * Parses a configuration.
 *
 * @param document What the file holds, as plain values; `undefined` and `null`
 * for no file and an empty one.
 * @param overrides Values that win over the file's; of two for one key the
 * later one.
 */
export function parseConfig(
  document: unknown,
  { names, overrides = [] }: {
    readonly names: ConfigNames;
    readonly overrides?: readonly Override[];
  },
): ParseResult {
  const complaints: Complaint[] = [];
  const given = new Map<string, Given>();
  const top: Spot = { origin: "", names, complaints };
  collect(document ?? {}, { path: "", spot: top, given });
  for (const { path, origin, value } of overrides) {
    given.set(path, { origin, value });
  }
  const read = readAll(given, top);
  const config = { ...read, ...followQueue(read, (path) => given.has(path)) };
  if (addressesCollide(config.listen, config.admin.listen)) {
    const origin = given.get("admin.listen")?.origin ?? "admin.listen";
    const value = `${config.admin.listen.hostname}:${config.admin.listen.port}`;
    complain({ ...top, origin }, { value }, `must not be the address "listen"`);
  }
  checkTls(config, top);
  checkCors(config.cors, top);
  checkHealth(config.health, config.endpoints, top);
  checkQueue(config.queue, config.timeouts.queueMs, top);
  return complaints.length === 0
    ? { kind: "accepted", config: freeze(config) }
    : { kind: "refused", complaints };
}

/** All complaints, one a line. */
export function complaintsText(complaints: readonly Complaint[]): string {
  return complaints
    .map(({ origin, wanted, value }) =>
      `Cannot use "${origin}" as it ${wanted}: current value is ${value}`
    )
    .join("\n");
}

/** Gathers the fields of the document and complains on every other key. */
function collect(
  value: unknown,
  { path, spot, given }: {
    readonly path: string;
    readonly spot: Spot;
    readonly given: Map<string, Given>;
  },
): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const origin = path === "" ? "configuration" : path;
    complain({ ...spot, origin }, { value }, "must be a mapping of keys");
    return;
  }
  const known = keysOf(path);
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = (path === "" ? "" : `${path}.`) + shownKey(key);
    const inside: Spot = { ...spot, origin: innerPath };
    if (isLater(innerPath, inner)) {
      complain(inside, { value: inner }, "is not available in this version");
    } else if (isField(innerPath)) {
      given.set(innerPath, { origin: innerPath, value: inner });
    } else if (known.includes(key)) {
      collect(inner ?? {}, { path: innerPath, spot, given });
    } else {
      // A slip of the pen is likelier than the wrong section.
      const isNear = nearestName(key, known) !== undefined;
      const hint = (isNear ? undefined : elsewhere(key)) ??
        knownNames(key, known);
      complain(inside, { value: inner }, `is not a known key: ${hint}`);
    }
  }
}

function readAll(given: ReadonlyMap<string, Given>, top: Spot): Config {
  const read: ReadField = <T>(field: Field<T>): T => {
    const { origin, value } = given.get(field.path) ??
      { origin: field.path, value: field.initial };
    const spot: Spot = { ...top, origin };
    return readOr(spot, { value }, {
      read: () => field.read(value, spot),
      otherwise: () => field.read(field.initial, spot),
    });
  };
  return assemble(read);
}

/** The keys of a section, sections in it included. */
function keysOf(section: string): string[] {
  const prefix = section === "" ? "" : `${section}.`;
  const inside = paths()
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).split(".")[0] ?? "");
  return [...new Set(inside)];
}

/** Where a key stands that was put into the wrong section. */
function elsewhere(key: string): string | undefined {
  const path = paths().find((path) => path.endsWith(`.${key}`));
  return path === undefined ? undefined : `did you mean "${path}"?`;
}

function paths(): string[] {
  return Object.values(FIELDS).map((field) => field.path);
}

function isField(path: string): boolean {
  return paths().includes(path);
}

function isLater(path: string, value: unknown): boolean {
  return LATER.some((later) =>
    later.path === path &&
    (later.value === undefined || later.value === value)
  );
}

/** Freezes plain data through and through. */
function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) freeze(inner);
    Object.freeze(value);
  }
  return value;
}
