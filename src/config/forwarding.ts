/**
 * The keys under `forwarding`: whom the gateway believes where a request came
 * from, and which header fields stop at it.
 *
 * Invariant: by default nobody is believed, and what steers engines or tells
 * of the inside stops.
 *
 * @module
 */
import { parseBlock } from "../core/cidr.ts";
import { Refusal } from "./complaint.ts";
import { complain, type Field, type Spot } from "./field.ts";

/** More networks, and more names, than anybody writes down. */
const ENTRIES_MAX = 1_024;

/** A field name in lower case (RFC 9110, 5.1). */
const NAME = /^[a-z0-9!#$%&'+.^_`|~-]{1,128}$/;

/** The same, or the beginning of names and a star. */
const NAMES = /^[a-z0-9!#$%&'+.^_`|~-]{1,128}\*?$/;

/** Framing and the gateway's own word, which no list may take away. */
const UNHIDEABLE =
  /^(?:content-(?:length|type|encoding)|x-request-id|x-tryst-)/;

/** Which fields trusted proxies write. */
export type ProxyFields = "x-forwarded" | "forwarded";

/** What is configured of forwarding. */
export interface ForwardingSettings {
  /** Blocks of addresses in CIDR notation. */
  readonly trustedProxies: readonly string[];
  /** Which fields those write; the others are dropped from everybody. */
  readonly proxyFields: ProxyFields;
  /** Names of fields that steer engines, but may pass, in lower case. */
  readonly allowHeaders: readonly string[];
  /** Names, or beginnings and a star, of engines' fields that do not pass. */
  readonly hideHeaders: readonly string[];
}

/** The keys of the `forwarding` section, by the setting that each fills. */
export const FORWARDING_FIELDS: {
  readonly trustedProxies: Field<ForwardingSettings["trustedProxies"]>;
  readonly proxyFields: Field<ForwardingSettings["proxyFields"]>;
  readonly allowHeaders: Field<ForwardingSettings["allowHeaders"]>;
  readonly hideHeaders: Field<ForwardingSettings["hideHeaders"]>;
} = {
  trustedProxies: {
    path: "forwarding.trusted_proxies",
    initial: [],
    doc: "Addresses of proxies, as ADDRESS or ADDRESS/BITS, that are believed" +
      " where a request came from",
    read: listOf(
      (text) => parseBlock(text) !== undefined,
      "must be an address or a block such as 10.0.0.0/8, without bits beyond" +
        " its prefix",
    ),
  },
  proxyFields: {
    path: "forwarding.proxy_fields",
    initial: "x-forwarded",
    doc: "What those proxies write: x-forwarded for x-forwarded-for, -proto" +
      " and -host, or forwarded (RFC 7239)",
    read(value) {
      if (value === "x-forwarded" || value === "forwarded") return value;
      throw new Refusal("must be x-forwarded or forwarded");
    },
  },
  allowHeaders: {
    path: "forwarding.allow_headers",
    initial: [],
    doc: "Request headers that steer engines, but may pass from clients",
    read: listOf(
      (text) => NAME.test(text),
      "must be a header name in lower case",
    ),
  },
  hideHeaders: {
    path: "forwarding.hide_headers",
    initial: [
      "server",
      "via",
      "x-powered-by",
      "x-served-by",
      "x-inference-pod",
      "x-gateway-destination-endpoint*",
      "target-pod*",
      "x-envoy-*",
      "x-vllm-*",
    ],
    doc: "Response headers of engines that clients do not get, by name or by" +
      " beginning and *",
    read: listOf(
      (text) => NAMES.test(text) && !UNHIDEABLE.test(text),
      "must be a header name in lower case, or a beginning of names and *," +
        " and not one that the gateway needs",
    ),
  },
};

/** Reads a list of text; bad entries complain on their own. */
function listOf(
  isEntry: (text: string) => boolean,
  wanted: string,
): (value: unknown, spot: Spot) => readonly string[] {
  return (value, spot) => {
    if (!Array.isArray(value) || value.length > ENTRIES_MAX) {
      throw new Refusal(`must be a list of at most ${ENTRIES_MAX} entries`);
    }
    const entries: string[] = [];
    for (const [index, entry] of value.entries()) {
      if (typeof entry === "string" && isEntry(entry)) entries.push(entry);
      else complain(spot, { at: `[${index}]`, value: entry }, wanted);
    }
    return entries;
  };
}
