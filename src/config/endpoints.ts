/**
 * The list of endpoints: entries with their own fields, port ranges expanded.
 *
 * Invariant: ids are distinct, and each bad entry complains with its index.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import { ENDPOINTS_MAX } from "../core/endpoints/endpoint_table.ts";
import { Refusal, shownKey } from "./complaint.ts";
import { type EndpointPlace, parseEndpointUrl } from "./endpoint_url.ts";
import {
  complain,
  type Field,
  knownNames,
  readOr,
  type Spot,
} from "./field.ts";
import { type HealthOverrides, readHealthOverrides } from "./health.ts";
import { parseInteger, parseNumber } from "./number.ts";
import { readPathOrNone } from "./path.ts";
import { readEndpointTls } from "./tls.ts";

/** Ids go into headers and metric labels: visible ASCII, no quote, bounded. */
const ID = /^[!#-\[\]-~]{1,128}$/;

/** What clients are told where there is no endpoint. */
const NO_ENDPOINT = "none";

/** Most requests in flight that a limit can name; far above any engine's. */
const MAX_IN_FLIGHT_MAX = 1_000_000;

/** A field name is a token (RFC 9110, 5.1). */
const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** Weights over these bounds are typing errors, not proportions. */
const WEIGHT_BOUNDS = { min: 0.001, max: 1000 };

/** The keys of an entry of `endpoints`. */
export const ENDPOINT_FIELDS = {
  url: {
    path: "url",
    initial: "required",
    doc: "http://HOST:PORT, https://HOST:PORT or unix:/path, with an optional" +
      " path; a port range such as 8000-8007 is as many endpoints",
    read: parseEndpointUrl,
  },
  id: {
    path: "id",
    initial: "the URL",
    doc: "Stable name, which decides where sessions go",
    read: parseId,
  },
  weight: {
    path: "weight",
    initial: 1,
    doc: "Share of sessions relative to the other endpoints, 0.001 to 1000",
    read: (value) => parseNumber(value, WEIGHT_BOUNDS),
  },
  maxInFlight: {
    path: "max_in_flight",
    initial: "auto",
    doc:
      "Most requests in flight at once, auto to learn what the engine bears," +
      " or none",
    read: parseMaxInFlight,
  },
  onDisconnect: {
    path: "on_disconnect",
    initial: "abort",
    doc: "What becomes of a request whose client leaves: abort closes the" +
      " engine's connection, finish lets the engine answer",
    read: parseOnDisconnect,
  },
  credentialFile: {
    path: "credential_file",
    initial: "none",
    doc: "File with the credential that the engine wants, or none",
    read: readPathOrNone,
  },
  credentialHeader: {
    path: "credential_header",
    initial: "authorization",
    doc: "Header that carries it; in authorization it is a bearer token",
    read: parseHeaderName,
  },
  tls: {
    path: "tls",
    initial: "as usual",
    doc: "How its certificate is verified: ca_file, server_name, cert_file," +
      " key_file (of the gateway's own), insecure",
    read: readEndpointTls,
  },
  health: {
    path: "health",
    initial: "as health",
    doc: "Keys of health that are another for this endpoint",
    read: readHealthOverrides,
  },
} satisfies Readonly<Record<string, Field<unknown>>>;

/** An endpoint as listed; its health still lacks what holds for all. */
export type ListedEndpoint =
  & Omit<EndpointSpec, "health">
  & { readonly health: HealthOverrides };

/**
 * Reads the list; an entry that is only a URL in text is `{ url: TEXT }`.
 *
 * @throws {Refusal} when `value` is not a list.
 */
export function readEndpoints(
  value: unknown,
  spot: Spot,
): readonly ListedEndpoint[] {
  if (!Array.isArray(value)) throw new Refusal("must be a list of endpoints");
  const specs: ListedEndpoint[] = [];
  const ids = new Set<string>();
  for (const [index, entry] of value.entries()) {
    const at = `[${index}]`;
    for (
      const spec of readEntry(entry, { ...spot, origin: spot.origin + at })
    ) {
      if (specs.length === ENDPOINTS_MAX) {
        throw new Refusal(`must name at most ${ENDPOINTS_MAX} endpoints`);
      }
      if (ids.has(spec.id)) {
        complain(spot, { at, value: spec.id }, "must not repeat an id");
      }
      ids.add(spec.id);
      specs.push(spec);
    }
  }
  return specs;
}

function readEntry(entry: unknown, spot: Spot): ListedEndpoint[] {
  const mapping = toMapping(entry);
  if (mapping === undefined) {
    complain(spot, { value: entry }, "must be a URL or a mapping with a url");
    return [];
  }
  const known = Object.values(ENDPOINT_FIELDS).map((field) => field.path);
  for (const [key, value] of mapping) {
    if (known.includes(key)) continue;
    const wanted = `is not a known key: ${knownNames(key, known)}`;
    complain(spot, { at: `.${shownKey(key)}`, value }, wanted);
  }
  const read = <T>(field: Field<T>, otherwise: T): T => {
    if (!mapping.has(field.path)) return otherwise;
    const value = mapping.get(field.path);
    const at = typeof entry === "string" ? "" : `.${field.path}`;
    return readOr(spot, { at, value }, {
      read: () => field.read(value, { ...spot, origin: spot.origin + at }),
      otherwise: () => otherwise,
    });
  };
  if (!mapping.has("url")) {
    complain(spot, { value: entry }, `must have a "url"`);
  }
  const places: EndpointPlace[] = read(ENDPOINT_FIELDS.url, []);
  const id = read(ENDPOINT_FIELDS.id, undefined);
  if (id !== undefined && places.length > 1) {
    complain(spot, { at: ".id", value: id }, "cannot name a range of ports");
  }
  const weight = read(ENDPOINT_FIELDS.weight, ENDPOINT_FIELDS.weight.initial);
  const maxInFlight = read<EndpointSpec["maxInFlight"]>(
    ENDPOINT_FIELDS.maxInFlight,
    "auto",
  );
  const onDisconnect = read<"abort" | "finish">(
    ENDPOINT_FIELDS.onDisconnect,
    "abort",
  );
  const health = read(ENDPOINT_FIELDS.health, {});
  const file = read(ENDPOINT_FIELDS.credentialFile, undefined);
  const header = read(
    ENDPOINT_FIELDS.credentialHeader,
    ENDPOINT_FIELDS.credentialHeader.initial,
  );
  const trust = read(ENDPOINT_FIELDS.tls, undefined);
  if (trust !== undefined && !places.every(usesTls)) {
    complain(spot, { at: ".tls", value: trust }, "must have an https:// URL");
  }
  return places.map(({ url, address, ...place }) => ({
    id: id !== undefined && places.length === 1 ? id : url,
    ...place,
    address: trust === undefined ? address : { ...address, trust },
    weight,
    maxInFlight,
    onDisconnect,
    health,
    ...(file === undefined ? {} : { credential: { file, header } }),
  }));
}

function usesTls({ address }: EndpointPlace): boolean {
  return address.kind === "tcp" && address.tls;
}

function toMapping(entry: unknown): Map<string, unknown> | undefined {
  if (typeof entry === "string") return new Map([["url", entry]]);
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    return undefined;
  }
  return new Map(Object.entries(entry));
}

function parseId(value: unknown): string | undefined {
  if (typeof value !== "string" || !ID.test(value)) {
    throw new Refusal("must be 1 to 128 visible ASCII characters");
  }
  if (value === NO_ENDPOINT) {
    throw new Refusal("must not be none, which stands for no endpoint");
  }
  return value;
}

function parseOnDisconnect(value: unknown): "abort" | "finish" {
  if (value === "abort" || value === "finish") return value;
  throw new Refusal("must be abort or finish");
}

/** Framing and routing are written by the gateway, whoever else wants to. */
function parseHeaderName(value: unknown): string {
  const name = typeof value === "string" ? value.toLowerCase() : "";
  const isFraming = /^(host|connection|content-length|transfer-encoding|te)$/
    .test(name);
  if (HEADER_NAME.test(name) && !isFraming) return name;
  throw new Refusal("must be the name of a header that engines read");
}

function parseMaxInFlight(value: unknown): number | "auto" | undefined {
  if (value === "none") return undefined;
  if (value === "auto") return value;
  try {
    return parseInteger(value, { min: 1, max: MAX_IN_FLIGHT_MAX });
  } catch {
    // The parser's own message does not know of the words.
    throw new Refusal(
      `must be auto, none or a whole number from 1 to ${MAX_IN_FLIGHT_MAX}`,
    );
  }
}
