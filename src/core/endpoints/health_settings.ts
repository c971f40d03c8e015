/**
 * How the health of one endpoint is judged.
 *
 * Invariant: plain data that a message can carry. `headers` may hold a
 * credential, and is sent to the endpoint's own address and shown nowhere.
 *
 * @module
 */
import type { HeaderList } from "../request.ts";

/** Settings of one endpoint; times in milliseconds, counts at least 1. */
export interface HealthSettings {
  /**
   * The path that is asked, behind the endpoint's base path. `auto` is
   * `/health`, and `/v1/models` for an engine that has no such path.
   */
  readonly path: string;
  /** Between two probes of an endpoint that is ready. */
  readonly intervalMs: number;
  /** How long a probe may take, connecting included. */
  readonly timeoutMs: number;
  /** Probes passed in a row that make an endpoint ready. */
  readonly healthyThreshold: number;
  /** Probes failed in a row that eject it. */
  readonly unhealthyThreshold: number;
  /** Failures of requests in a row that eject it. */
  readonly failures: number;
  /** Until an ejected endpoint is probed first. */
  readonly backoffMs: number;
  /** What that doubles up to while the endpoint stays ill. */
  readonly backoffMaxMs: number;
  /** Sent with each probe, for engines that ask for a credential. */
  readonly headers: HeaderList;
}
