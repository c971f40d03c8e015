/**
 * How a gateway ends: it says so first, stops taking requests, lets those that
 * run finish, and cuts what is left.
 *
 * | Step | What clients see | Ends with |
 * | --- | --- | --- |
 * | readiness fails | `/readyz` answers 503, requests are served, and each answer ends its connection | `stop.ready_grace` |
 * | workers stop | connections are refused, idle ones close | the last request |
 * | deadline | what still runs is cut | `stop.deadline` |
 *
 * Invariant: a second signal ends every step at once.
 *
 * @module
 */
import type { Clock, Log } from "../core/outside.ts";

/** What makes a gateway end. */
export type StopCause =
  | { readonly kind: "signal"; readonly signal: string }
  | { readonly kind: "hung"; readonly worker: number };

/** What the sequence is made of. */
export interface StopParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: {
    readonly readyGraceMs: number;
    readonly deadlineMs: number;
  };
  /** Resolves at the next signal. */
  readonly nextSignal: () => Promise<string>;
  /** Resolves when a worker hangs; never otherwise. */
  readonly hung: Promise<number>;
  /** Has readiness fail from now on. */
  readonly failReadiness: () => void;
  readonly workers: {
    /** Has each answer end its connection. */
    leave(): void;
    /** Resolves to how many requests were cut. */
    stop(deadlineMs: number): Promise<number>;
    /** Ends every worker at once. */
    cut(): void;
  };
}

/** What it came to. */
export interface Stopped {
  readonly cause: StopCause;
  readonly cutCount: number;
}

/** Waits for a cause to end, without limit, and ends the workers. */
export async function untilStopped(parts: StopParts): Promise<Stopped> {
  const { config, log, workers } = parts;
  const cause = await Promise.race<StopCause>([
    parts.nextSignal().then((signal) => ({ kind: "signal", signal })),
    parts.hung.then((worker) => ({ kind: "hung", worker })),
  ]);
  parts.failReadiness();
  log("info", "gateway.stopping", {
    cause: cause.kind === "signal" ? cause.signal : `worker ${cause.worker}`,
    "deadline_ms": config.deadlineMs,
    "ready_grace_ms": config.readyGraceMs,
  });
  const hurried = parts.nextSignal().then((signal) => {
    log("warn", "gateway.cut", { signal });
    workers.cut();
  });
  await graceOf(parts, hurried);
  const cutCount = await workers.stop(config.deadlineMs);
  log(cutCount > 0 ? "warn" : "info", "gateway.stopped", {
    "requests_cut": cutCount,
  });
  return { cause, cutCount };
}

async function graceOf(
  { clock, config, workers }: StopParts,
  hurried: Promise<void>,
): Promise<void> {
  if (config.readyGraceMs === 0) return;
  workers.leave();
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = clock.after(config.readyGraceMs, resolve);
  });
  await Promise.race([over, hurried]);
  cancel();
}
