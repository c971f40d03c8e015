/**
 * Addresses to listen on, written `HOST:PORT`.
 *
 * Invariant: an IPv6 address is written in brackets and held without them, as
 * listening takes it.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import type { ListenAddress } from "./config.ts";

/** The highest port there is; ports are 16 bits (RFC 9293, section 3.1). */
export const PORT_MAX = 65_535;

/** Hosts that mean every address of the machine. */
const WILDCARD_HOSTS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/**
 * Parses `HOST:PORT`, for example `0.0.0.0:8080` or `[::1]:8081`.
 *
 * @throws {Refusal}
 */
export function parseListenAddress(value: unknown): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9A-Za-z._-]+)):(\d{1,5})$/
    .exec(typeof value === "string" ? value : "");
  const hostname = match?.[1] ?? match?.[2];
  if (hostname === undefined) {
    throw new Refusal(
      "must be HOST:PORT such as 0.0.0.0:8080, with IPv6 in brackets",
    );
  }
  const port = Number(match?.[3]);
  if (port > PORT_MAX) {
    throw new Refusal(`must have a port from 0 to ${PORT_MAX}`);
  }
  return { hostname, port };
}

/** Whether two listeners would want the same port of the same address. */
export function addressesCollide(a: ListenAddress, b: ListenAddress): boolean {
  if (a.port === 0 || a.port !== b.port) return false;
  return a.hostname === b.hostname || WILDCARD_HOSTS.has(a.hostname) ||
    WILDCARD_HOSTS.has(b.hostname);
}
