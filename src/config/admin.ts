/**
 * The keys under `admin`: where the gateway is operated, and who may do so.
 *
 * The token itself is no key: a configuration file is read by many and copied
 * about. It stands in a file of its own, or in the environment.
 *
 * Invariant: nothing here is a secret.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import type { ListenAddress } from "./config.ts";
import type { Field } from "./field.ts";
import { parseListenAddress } from "./listen_address.ts";
import { readPathOrNone } from "./path.ts";

/** Hosts that only the machine itself can reach (RFC 6890, RFC 6761). */
const LOOPBACK = /^(localhost|::1|127(\.\d{1,3}){3})$/i;

/** What is configured of the admin side. */
export interface AdminSettings {
  readonly listen: ListenAddress;
  /** The file with the token; `undefined` for none. */
  readonly tokenFile: string | undefined;
  /** Whether metrics need no token; `auto` for on loopback only. */
  readonly metricsOpen: boolean | "auto";
}

/** The keys of the `admin` section, by the setting that each fills. */
export const ADMIN_FIELDS: {
  readonly adminListen:
    & Field<AdminSettings["listen"]>
    & { readonly initial: string };
  readonly adminTokenFile: Field<AdminSettings["tokenFile"]>;
  readonly adminMetricsOpen: Field<AdminSettings["metricsOpen"]>;
} = {
  adminListen: {
    path: "admin.listen",
    initial: "127.0.0.1:8081",
    doc: "HOST:PORT of health, readiness, metrics and the admin API; beyond" +
      " loopback it needs a token",
    read: parseListenAddress,
  },
  adminTokenFile: {
    path: "admin.token_file",
    initial: "none",
    doc: "File with the token that the admin API then asks for, or none;" +
      " TRYST_ADMIN_TOKEN can hold it instead",
    read: readPathOrNone,
  },
  adminMetricsOpen: {
    path: "admin.metrics_open",
    initial: "auto",
    doc: "Whether /metrics needs no token: true, false, or auto for on" +
      " loopback only",
    read: readMetricsOpen,
  },
};

/** Whether a host to listen on, or of a `Host` header, is this machine alone. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

function readMetricsOpen(value: unknown): boolean | "auto" {
  if (value === "auto" || typeof value === "boolean") return value;
  throw new Refusal("must be true, false or auto");
}
