/**
 * The endpoints as the admin API shows them, put together from the directory,
 * the shared table and the plan of pools.
 *
 * Invariant: it only reads, so it may be asked for at any time.
 *
 * @module
 */
import type { EndpointReport } from "../admin/endpoint_api.ts";
import type { PoolPlan } from "../core/placement/pool_plan.ts";
import type { Control } from "./control.ts";

/** Reports on every listed endpoint, in the order of the list. */
export function endpointReports(
  control: Control,
  nowMs: number,
): EndpointReport[] {
  const { directory, state } = control;
  const counts = modelCounts(directory.routes.plan);
  return control.endpoints().map((status) => {
    const slot = directory.slotOf(status.id);
    const limit = state.endpoints.limit(slot);
    const spec = directory.routes.endpoints.get(slot);
    const answeredAtMs = state.endpoints.answeredAtMs(slot);
    return {
      id: status.id,
      state: status.state,
      weight: spec?.weight ?? 1,
      inFlight: status.inFlight,
      limit: limit === 0 ? undefined : limit,
      sessions: status.sessions,
      consecutiveFailures: status.failures,
      lastAnswerAgeMs: answeredAtMs === undefined
        ? undefined
        : Math.max(0, Math.round(nowMs - answeredAtMs)),
      models: counts.get(slot),
    };
  });
}

/** How many models each slot lists; nothing for those that list none. */
function modelCounts(plan: PoolPlan): Map<number, number> {
  const perPool: number[] = plan.pools.map(() => 0);
  for (const pool of plan.models.values()) {
    perPool[pool] = (perPool[pool] ?? 0) + 1;
  }
  const counts = new Map<number, number>();
  for (const [index, { slots }] of plan.pools.entries()) {
    const count = perPool[index] ?? 0;
    if (count === 0) continue;
    for (const slot of slots) counts.set(slot, (counts.get(slot) ?? 0) + count);
  }
  // These serve every model, since nobody knows which they list.
  const unlisted = plan.pools[plan.unlisted];
  for (const slot of unlisted?.slots ?? []) counts.delete(slot);
  return counts;
}
