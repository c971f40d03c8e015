/**
 * The first look at the endpoints, which a gateway takes before it listens.
 *
 * One that listens first would refuse requests, or send sessions elsewhere,
 * for the milliseconds until it knows which endpoints are well: where it takes
 * over from another gateway on the same port, these are requests that the
 * other would have served.
 *
 * Invariant: an endpoint that does not answer delays the start by no more than
 * the limit, and one that refuses connections not at all.
 *
 * @module
 */
import type { EndpointStatus } from "../admin/metrics/metrics.ts";
import type { Clock } from "../core/outside.ts";

/**
 * 1 s: a probe of an engine that is not overloaded takes milliseconds, and
 * clients of a gateway that starts anew are refused for as long as it waits.
 */
const LOOK_MS_MAX = 1_000;

/** Milliseconds between two looks at what probes have found. */
const PAUSE_MS = 5;

/** Resolves once every endpoint has been asked, or it takes too long. */
export async function untilSeen(
  control: { endpoints(): readonly EndpointStatus[] },
  clock: Clock,
): Promise<void> {
  const deadlineAtMs = clock.nowMs() + LOOK_MS_MAX;
  while (!control.endpoints().every(isSeen)) {
    if (clock.nowMs() >= deadlineAtMs) return;
    await new Promise<void>((resolve) => clock.after(PAUSE_MS, resolve));
  }
}

/** A drained one is not asked. */
function isSeen({ probes, state }: EndpointStatus): boolean {
  if (state === "draining") return true;
  for (const count of probes.values()) {
    if (count > 0) return true;
  }
  return false;
}
