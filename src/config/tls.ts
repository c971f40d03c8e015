/**
 * The keys under `tls`, of the listener and of an endpoint.
 *
 * The certificates and keys stand in files of their own, which are read where
 * they are used, and again when they have changed.
 *
 * Invariant: nothing here is a secret, and an endpoint's certificate is
 * verified unless `insecure` says otherwise in so many words.
 *
 * @module
 */
import type { UpstreamTls } from "../core/outside.ts";
import { Refusal, shownKey } from "./complaint.ts";
import type { ListenAddress } from "./config.ts";
import {
  complain,
  type Field,
  knownNames,
  readOr,
  type Spot,
} from "./field.ts";
import { addressesCollide, parseListenAddress } from "./listen_address.ts";
import { readPathOrNone } from "./path.ts";

/** Names as in certificates (RFC 6125): labels or an address, no blanks. */
const SERVER_NAME = /^[0-9A-Za-z._:-]{1,253}$/;

/** What is configured of the listener's TLS. */
export interface TlsSettings {
  /** PEM, the listener's own certificate first; `undefined` for no TLS. */
  readonly certFile: string | undefined;
  /** PEM, the key of that certificate. */
  readonly keyFile: string | undefined;
  /** Where plain HTTP is sent on to HTTPS; `undefined` for nowhere. */
  readonly redirectListen: ListenAddress | undefined;
}

/** The keys of the `tls` section, by the setting that each fills. */
export const TLS_FIELDS: {
  readonly tlsCertFile: Field<TlsSettings["certFile"]>;
  readonly tlsKeyFile: Field<TlsSettings["keyFile"]>;
  readonly tlsRedirectListen: Field<TlsSettings["redirectListen"]>;
} = {
  tlsCertFile: {
    path: "tls.cert_file",
    initial: "none",
    doc: "PEM file with the certificate of the listener and its chain, or" +
      " none for plain HTTP; read again when it changes",
    needsRestart: true,
    read: readPathOrNone,
  },
  tlsKeyFile: {
    path: "tls.key_file",
    initial: "none",
    doc: "PEM file with the key of that certificate, or none",
    needsRestart: true,
    read: readPathOrNone,
  },
  tlsRedirectListen: {
    path: "tls.redirect_listen",
    initial: "none",
    doc: "HOST:PORT where plain HTTP is sent on to HTTPS, or none",
    needsRestart: true,
    read: (value) => value === "none" ? undefined : parseListenAddress(value),
  },
};

/** The keys of `tls` of an endpoint. */
const ENDPOINT_TLS_KEYS = [
  "ca_file",
  "server_name",
  "cert_file",
  "key_file",
  "insecure",
] as const;

/** Complains on settings that contradict each other. */
export function checkTls(
  { listen, admin, tls }: {
    readonly listen: ListenAddress;
    readonly admin: { readonly listen: ListenAddress };
    readonly tls: TlsSettings;
  },
  spot: Spot,
): void {
  const { certFile, keyFile, redirectListen } = tls;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const lacks = certFile === undefined ? "cert_file" : "key_file";
    const origin = `tls.${lacks}`;
    complain({ ...spot, origin }, { value: "none" }, "must be given too");
  }
  if (redirectListen === undefined) return;
  const origin = TLS_FIELDS.tlsRedirectListen.path;
  const value = `${redirectListen.hostname}:${redirectListen.port}`;
  if (certFile === undefined) {
    complain({ ...spot, origin }, { value }, 'must have a "tls.cert_file"');
  }
  for (
    const [name, other] of [["listen", listen], [
      "admin.listen",
      admin.listen,
    ]] as const
  ) {
    if (!addressesCollide(redirectListen, other)) continue;
    complain(
      { ...spot, origin },
      { value },
      `must not be the address "${name}"`,
    );
  }
}

/**
 * Reads how an endpoint's TLS is verified.
 *
 * @throws {Refusal} when it is no mapping.
 */
export function readEndpointTls(value: unknown, spot: Spot): UpstreamTls {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Refusal(`must be a mapping of ${ENDPOINT_TLS_KEYS.join(", ")}`);
  }
  const given = new Map<string, unknown>(Object.entries(value));
  for (const key of given.keys()) {
    if (ENDPOINT_TLS_KEYS.some((known) => known === key)) continue;
    const wanted = `is not a known key: ${knownNames(key, ENDPOINT_TLS_KEYS)}`;
    complain(spot, { at: `.${shownKey(key)}`, value: given.get(key) }, wanted);
  }
  const read = <T>(
    key: typeof ENDPOINT_TLS_KEYS[number],
    readValue: (value: unknown) => T,
  ): T | undefined => {
    if (!given.has(key)) return undefined;
    const inner = given.get(key);
    return readOr<T | undefined>(spot, { at: `.${key}`, value: inner }, {
      read: () => readValue(inner),
      otherwise: () => undefined,
    });
  };
  const tls = {
    caFile: read("ca_file", readPathOrNone),
    serverName: read("server_name", readServerName),
    certFile: read("cert_file", readPathOrNone),
    keyFile: read("key_file", readPathOrNone),
    insecure: read("insecure", readTruth) ?? false,
  };
  if (given.has("cert_file") !== given.has("key_file")) {
    const lacks = given.has("cert_file") ? "key_file" : "cert_file";
    complain(spot, { value }, `must have a "${lacks}" too`);
  }
  if (tls.insecure && given.has("ca_file")) {
    const wanted = "must be false beside a ca_file, which it would ignore";
    complain(spot, { at: ".insecure", value: true }, wanted);
  }
  return tls;
}

function readServerName(value: unknown): string {
  if (typeof value === "string" && SERVER_NAME.test(value)) return value;
  throw new Refusal("must be the name in the endpoint's certificate");
}

function readTruth(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new Refusal("must be true or false");
}
