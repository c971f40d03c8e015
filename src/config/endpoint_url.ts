/**
 * The URL of an endpoint, or of a row of endpoints on neighboring ports.
 *
 * Invariant: the same address and path have one canonical URL in every
 * spelling, as it decides where sessions go; and a URL carries no credential,
 * as it is shown to clients and in logs.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import { ENDPOINTS_MAX } from "../core/endpoints/endpoint_table.ts";
import { Refusal } from "./complaint.ts";
import { PORT_MAX } from "./listen_address.ts";

/** What a URL says of an endpoint. */
export type EndpointPlace =
  & Pick<
    EndpointSpec,
    "address" | "basePath" | "host"
  >
  & {
    /** The canonical URL. */
    readonly url: string;
  };

/** Base URL whose port is a range: before the ports, ports, path. */
const PORT_RANGE = /^(https?:\/\/(?:\[[^\]]*\]|[^/:?#]*)):(\d+)-(\d+)(\/.*)?$/;

/**
 * Parses `http://HOST:PORT`, `https://HOST:PORT`, either with a path or with a
 * port range such as `8000-8007`, or `unix:/path`.
 *
 * @returns One place a port, in the order of the ports.
 * @throws {Refusal}
 */
export function parseEndpointUrl(value: unknown): EndpointPlace[] {
  if (typeof value !== "string") throw new Refusal("must be a URL");
  if (value.startsWith("unix:")) return [parseUnixUrl(value)];
  if (/^[a-z]+:\/\/.*@/is.test(value)) {
    throw new Refusal("must not carry credentials");
  }
  return expandPorts(value).map(parseHttpUrl);
}

function expandPorts(url: string): string[] {
  const match = PORT_RANGE.exec(url);
  if (match === null) return [url];
  const [, base, from, to, path] = match;
  const first = Number(from);
  const last = Number(to);
  if (first > last) throw new Refusal("must have its lower port first");
  if (first < 1 || last > PORT_MAX) {
    throw new Refusal(`must have ports from 1 to ${PORT_MAX}`);
  }
  if (last - first >= ENDPOINTS_MAX) {
    throw new Refusal(`must span at most ${ENDPOINTS_MAX} ports`);
  }
  return Array.from(
    { length: last - first + 1 },
    (_, at) => `${base}:${first + at}${path ?? ""}`,
  );
}

function parseUnixUrl(value: string): EndpointPlace {
  const path = value.slice("unix:".length);
  // The first byte must be a slash: `unix:socket` would depend on the
  // directory in which the gateway happens to be started.
  if (!/^\/[^\s\0]*[^\s\0/]$/.test(path)) {
    throw new Refusal("must be unix: and an absolute path");
  }
  return {
    address: { kind: "unix", path },
    basePath: "",
    host: "localhost",
    url: `unix:${path}`,
  };
}

function parseHttpUrl(value: string): EndpointPlace {
  // Checked by hand first, as the URL parser repairs what it can: it takes
  // `http:host`, backslashes and line breaks.
  const parsed = /^https?:\/\/[^\s\\/]+(\/[^\s\\]*)?$/.test(value)
    ? URL.parse(value)
    : null;
  if (parsed === null || parsed.port === "0") {
    throw new Refusal(
      "must be http://HOST:PORT, https://HOST:PORT or unix:/path",
    );
  }
  if (parsed.search !== "" || parsed.hash !== "") {
    throw new Refusal("must have no query and no fragment");
  }
  const tls = parsed.protocol === "https:";
  const basePath = parsed.pathname.replace(/\/+$/, "");
  return {
    address: {
      kind: "tcp",
      hostname: parsed.hostname.replace(/^\[|\]$/g, ""),
      port: parsed.port === "" ? (tls ? 443 : 80) : Number(parsed.port),
      tls,
    },
    basePath,
    host: parsed.host,
    url: parsed.origin + basePath,
  };
}
