/**
 * An endpoint: one base URL of one engine.
 *
 * Invariant: an endpoint is known by its id, and by nothing else, wherever it
 * is bound, ranked, counted or named to a client.
 *
 * @module
 */
import type { HealthSettings } from "./endpoints/health_settings.ts";
import type { Address } from "./outside.ts";

/** Where an engine's own credential is kept, and how it is presented. */
export interface CredentialSpec {
  /** The file that holds it. */
  readonly file: string;
  /** Lower-case name of the header that carries it. */
  readonly header: string;
}

/** An endpoint as configured or discovered. */
export interface EndpointSpec {
  /** Stable name; its URL unless named. Hashed for ranking. */
  readonly id: string;
  readonly address: Address;
  /** Path put before every target, without trailing slash; often empty. */
  readonly basePath: string;
  /** The `Host` header the engine expects. */
  readonly host: string;
  /** Share of sessions relative to the others; over 0. */
  readonly weight: number;
  /**
   * Most requests in flight at once; `auto` learns how many the engine bears,
   * `undefined` is no limit.
   */
  readonly maxInFlight: number | "auto" | undefined;
  /**
   * What happens to a request whose client leaves: `abort` closes the engine's
   * connection at once, `finish` lets an engine that suffers from that answer.
   */
  readonly onDisconnect: "abort" | "finish";
  readonly health: HealthSettings;
  /** Absent when the engine wants none of the gateway. */
  readonly credential?: CredentialSpec;
}

/**
 * - `probing`: not heard of yet; takes no work.
 * - `ready`: takes work.
 * - `ejected`: out after failures; takes no work.
 * - `draining`: finishes its work and takes no more.
 */
export const ENDPOINT_STATES = [
  "probing",
  "ready",
  "ejected",
  "draining",
] as const;

/** The state of an endpoint. */
export type EndpointState = typeof ENDPOINT_STATES[number];
