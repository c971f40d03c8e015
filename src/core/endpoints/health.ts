/**
 * The health of one endpoint, as a state machine: what happened goes in, the
 * next state and the time of the next probe come out.
 *
 * | state | what happened | then |
 * | --- | --- | --- |
 * | `probing` | probe passed, `healthy_threshold` in a row | `ready` |
 * | `probing` | probe failed or timed out | `probing` |
 * | `ready` | probe failed, `unhealthy_threshold` in a row | `ejected` |
 * | `ready` | probe timed out | as failed, unless traffic was answered lately |
 * | `ready` | traffic met `failures` in a row | `ejected` |
 * | `ejected` | probe passed, `healthy_threshold` in a row | `ready` |
 * | `ejected` | probe failed or timed out | `ejected`, back-off doubled |
 * | all but `draining` | drained | `draining` |
 * | `draining` | restored, last probes passed | `ready` |
 * | `draining` | restored otherwise | `probing` |
 * | any | anything else | the same |
 *
 * A probe that times out says nothing, as an engine whose every thread
 * computes does not answer it either; so an engine that has answered a request
 * a moment ago is alive. A probe that fails says something: the engine refuses
 * connections, or tells that it is not well.
 *
 * An ejected endpoint is half open: after the back-off it gets one probe, and
 * no request before that has passed. The back-off is drawn from its upper
 * half, so that many gateways do not knock all at once, doubles with each
 * failure, and starts anew once the endpoint has been ready for as long as the
 * longest back-off.
 *
 * Invariant: nothing but passed probes makes an endpoint ready, and nothing
 * but `restored` ends draining. Time and chance come in as arguments.
 *
 * @module
 */
import type { EndpointState } from "../endpoint.ts";
import type { HealthSettings } from "./health_settings.ts";

/**
 * An engine that answered a request less than 10 s ago is alive. That is
 * longer than a scheduling step of a full batch, and short enough that a hung
 * engine is out within half a minute.
 */
const ALIVE_MS = 10_000;

/** Probes come up to a tenth early or late, so that they spread out. */
const JITTER = 0.1;

/** What a probe came to; see the header on the last two. */
export const PROBE_RESULTS = ["passed", "failed", "timed_out"] as const;

/** What a probe came to. */
export type ProbeResult = typeof PROBE_RESULTS[number];

/** Something that happened to an endpoint. */
export type HealthEvent =
  | { readonly kind: "probed"; readonly result: ProbeResult }
  /** Traffic has ejected the endpoint already, at this time. */
  | { readonly kind: "failures_reached"; readonly atMs: number }
  /** A request was answered. */
  | { readonly kind: "answered"; readonly atMs: number }
  | { readonly kind: "drained" }
  | { readonly kind: "restored" };

/** What is known of an endpoint's health. */
export interface Health {
  readonly state: EndpointState;
  /** When the state was entered. */
  readonly sinceMs: number;
  /** When the next probe is due. */
  readonly probeAtMs: number;
  /** Probes passed in a row. */
  readonly passCount: number;
  /** Probes failed in a row. */
  readonly failCount: number;
  /** The last back-off, before chance; 0 when there has been none. */
  readonly backoffMs: number;
  /** When a request was last answered. */
  readonly answeredAtMs: number;
}

/** What a step depends on besides state and event. */
export interface HealthContext {
  readonly settings: HealthSettings;
  readonly nowMs: number;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** An endpoint that nothing is known of; its first probe is due at once. */
export function newHealth(nowMs: number): Health {
  return {
    state: "probing",
    sinceMs: nowMs,
    probeAtMs: nowMs,
    passCount: 0,
    failCount: 0,
    backoffMs: 0,
    answeredAtMs: -Infinity,
  };
}

/** The health after an event. */
export function stepHealth(
  health: Health,
  event: HealthEvent,
  context: HealthContext,
): Health {
  const { nowMs } = context;
  switch (event.kind) {
    case "probed":
      return afterProbe(health, event.result, context);
    case "failures_reached":
      return health.state === "ready"
        ? eject(health, event.atMs, context)
        : health;
    case "answered":
      return event.atMs > health.answeredAtMs
        ? { ...health, answeredAtMs: event.atMs }
        : health;
    case "drained":
      return health.state === "draining"
        ? health
        : { ...health, state: "draining", sinceMs: nowMs };
    case "restored":
      return restore(health, context);
  }
}

function afterProbe(
  health: Health,
  result: ProbeResult,
  context: HealthContext,
): Health {
  const { settings, nowMs } = context;
  const probeAtMs = nowMs + probeDelayMs(health, context);
  const isAlive = nowMs - health.answeredAtMs < ALIVE_MS;
  if (health.state === "ready" && result === "timed_out" && isAlive) {
    return { ...health, probeAtMs };
  }
  if (result === "passed") {
    const passCount = health.passCount + 1;
    const passed = { ...health, probeAtMs, passCount, failCount: 0 };
    const isComing = health.state === "probing" || health.state === "ejected";
    return isComing && passCount >= settings.healthyThreshold
      ? enterReady(passed, context)
      : passed;
  }
  const failCount = health.failCount + 1;
  const failed = { ...health, probeAtMs, passCount: 0, failCount };
  if (health.state === "ejected") return backOff(failed, context);
  return health.state === "ready" && failCount >= settings.unhealthyThreshold
    ? eject(failed, nowMs, context)
    : failed;
}

/** Until the next probe, unless the state is left. */
function probeDelayMs({ state }: Health, context: HealthContext): number {
  const { settings, random } = context;
  const isSteady = state === "ready" || state === "draining";
  // One that may come up any moment is not kept waiting.
  const delayMs = isSteady
    ? settings.intervalMs
    : Math.min(settings.intervalMs, settings.backoffMs);
  return delayMs * (1 - JITTER + 2 * JITTER * random());
}

function enterReady(health: Health, context: HealthContext): Health {
  const { settings, nowMs, random } = context;
  return {
    ...health,
    state: "ready",
    sinceMs: nowMs,
    failCount: 0,
    // Anywhere within the interval: endpoints that come up together part.
    probeAtMs: nowMs + settings.intervalMs * random(),
  };
}

function eject(
  health: Health,
  atMs: number,
  context: HealthContext,
): Health {
  const { settings, nowMs } = context;
  const hasRecovered = nowMs - health.sinceMs >= settings.backoffMaxMs;
  const ejected: Health = {
    ...health,
    state: "ejected",
    sinceMs: atMs,
    passCount: 0,
    backoffMs: hasRecovered ? 0 : health.backoffMs,
  };
  return backOff(ejected, context);
}

function backOff(health: Health, context: HealthContext): Health {
  const { settings, nowMs, random } = context;
  const doubled = Math.max(health.backoffMs * 2, settings.backoffMs);
  const backoffMs = Math.min(doubled, settings.backoffMaxMs);
  const probeAtMs = nowMs + backoffMs * (1 + random()) / 2;
  return { ...health, backoffMs, probeAtMs };
}

function restore(health: Health, context: HealthContext): Health {
  const { settings, nowMs } = context;
  if (health.state !== "draining") return health;
  if (health.passCount >= settings.healthyThreshold) {
    return enterReady(health, context);
  }
  return { ...health, state: "probing", sinceMs: nowMs, probeAtMs: nowMs };
}
