/**
 * Takes back what a worker thread that died has left behind.
 *
 * Invariant: it runs once for each death, before another thread takes over the
 * dead one's index.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { Ledger } from "../core/placement/ledger.ts";
import { PlaceKeeper } from "../core/placement/place_keeper.ts";
import { TenantLimits } from "../core/tenants/tenant_limits.ts";
import { budgetOf, type SharedState } from "./shared_state.ts";

/** Takes back all that the requests of worker `index` held. */
export function reclaimWorker(
  config: Config,
  state: SharedState,
  worker: { readonly index: number; readonly nowMs: number },
): void {
  const { board, endpoints, sessions, buffers } = state;
  const { index, nowMs } = worker;
  const places = new PlaceKeeper(board, endpoints);
  board.reclaim(index, (slot) => places.release(slot, nowMs));
  new Ledger(buffers.ledgers[index]).reclaim(sessions, places, nowMs);
  budgetOf(config, buffers, index).reclaim();
  new TenantLimits(buffers.tenants, index).reclaim();
}
