/**
 * Whether the gateway should be sent requests, and if not, why not.
 *
 * A configuration that was refused is told, and is no reason to send requests
 * elsewhere: the gateway serves by the one before.
 *
 * Invariant: ready means that a worker serves, that it has an endpoint to go
 * to, and that nobody has told the gateway to stop.
 *
 * @module
 */

/** What readiness depends on. */
export interface ReadinessFacts {
  readonly isStopping: boolean;
  /** Endpoints that take work, of how many. */
  readonly eligible: number;
  readonly total: number;
  /** Worker threads that serve, of how many there should be. */
  readonly serving: number;
  readonly workers: number;
  /** What is wrong with the configuration that was read last, if anything. */
  readonly configComplaint?: string | undefined;
}

/** The answer, as `/readyz` gives it. */
export interface Readiness {
  readonly status: "ready" | "not ready";
  /** Why it is not ready. */
  readonly reason?: string;
  readonly eligible: number;
  readonly total: number;
  readonly workers: { readonly serving: number; readonly wanted: number };
  /** Why the configuration that was read last is not in force. */
  readonly "config_refused"?: string;
}

/** Judges the facts; workers that are missing are told, while one serves. */
export function readinessOf(facts: ReadinessFacts): Readiness {
  const { configComplaint, eligible, serving, total, workers } = facts;
  const counts = {
    eligible,
    total,
    workers: { serving, wanted: workers },
    ...(configComplaint === undefined
      ? {}
      : { "config_refused": configComplaint }),
  };
  const reason = reasonOf(facts);
  return reason === undefined
    ? { status: "ready", ...counts }
    : { status: "not ready", reason, ...counts };
}

function reasonOf(facts: ReadinessFacts): string | undefined {
  if (facts.isStopping) return "stopping";
  if (facts.serving === 0) return `0 of ${facts.workers} workers serve`;
  if (facts.eligible > 0) return undefined;
  return `0 of ${facts.total} endpoints are eligible`;
}
