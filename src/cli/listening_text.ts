/**
 * What `tryst serve` says once it listens.
 *
 * Invariant: the addresses are those that clients can use: ports that the
 * operating system has chosen are told as they are.
 *
 * @module
 */
import type { Config, ListenAddress } from "../config/config.ts";

/** Addresses, workers and endpoints, one a line. */
export function listeningText(
  { config, workerCount }: {
    readonly config: Config;
    readonly workerCount: number;
  },
  { adminPort, port }: { readonly adminPort: number; readonly port: number },
): string {
  const { admin, endpoints, listen, tls } = config;
  const scheme = tls.certFile === undefined ? "http" : "https";
  return [
    `Tryst listens on ${urlOf(scheme, listen, port)}` +
    ` with ${workerCount} worker${workerCount === 1 ? "" : "s"}`,
    `Admin on ${urlOf("http", admin.listen, adminPort)}` +
    ` (/ in a browser, /healthz, /readyz, /metrics)`,
    `${endpoints.length} endpoint${endpoints.length === 1 ? "" : "s"}: ${
      endpoints.map(({ id }) => id).join(", ")
    }`,
  ].join("\n");
}

function urlOf(
  scheme: string,
  { hostname }: ListenAddress,
  port: number,
): string {
  return `${scheme}://${
    hostname.includes(":") ? `[${hostname}]` : hostname
  }:${port}`;
}
