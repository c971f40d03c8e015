/**
 * Where freed places go when whoever frees them has no waiting calls itself:
 * to the worker of the best waiting call, or back to the endpoint.
 *
 * Invariant: a place is handed over or freed, never both, and it is handed
 * over only while its endpoint takes work within its limit.
 *
 * @module
 */
import type { EndpointTable } from "../endpoints/endpoint_table.ts";
import type { QueueBoard } from "../queue/queue_board.ts";

/** Takes back places of calls that no thread serves any more. */
export class PlaceKeeper {
  readonly #board: QueueBoard;
  readonly #endpoints: EndpointTable;

  constructor(board: QueueBoard, endpoints: EndpointTable) {
    this.#board = board;
    this.#endpoints = endpoints;
  }

  /** Hands a reserved place on, or frees it. */
  release(slot: number, nowMs: number): void {
    const endpoints = this.#endpoints;
    if (this.#handOn(slot, nowMs)) return;
    endpoints.release(slot);
    // Who came in between looked for a place before it was free.
    if (this.#board.waitingCount === 0 || !endpoints.tryReserve(slot)) return;
    if (!this.#handOn(slot, nowMs)) endpoints.release(slot);
  }

  /** Hands a reserved place over; false when nobody may have it. */
  #handOn(slot: number, nowMs: number): boolean {
    if (this.#board.waitingCount === 0) return false;
    const at = { nowMs, isReserved: true };
    if (!takesWork(this.#endpoints, slot, at)) return false;
    const best = this.#board.best(slot);
    if (best < 0) return false;
    this.#board.grant(best, slot);
    return true;
  }
}

/**
 * Whether an endpoint takes work of calls that wait, and holds no more than it
 * may.
 *
 * One that cannot be connected to takes none for a moment, and then one call
 * at a time until it answers: otherwise every call that waits would be tried
 * on it, and lost, at once. One that has asked to be left alone takes one at a
 * time too; its first success says that it is well again.
 *
 * @param at Whether the place in question is reserved already, and so counted.
 */
export function takesWork(
  endpoints: EndpointTable,
  slot: number,
  at: { readonly nowMs: number; readonly isReserved: boolean },
): boolean {
  const { isReserved, nowMs } = at;
  if (endpoints.state(slot) !== "ready") return false;
  const isBusy = endpoints.isBusy(slot, nowMs);
  const isUnreachable = endpoints.failures(slot) > 0 &&
    endpoints.lastFailure(slot) === "upstream_unreachable";
  if (isBusy && isUnreachable) return false;
  const limit = isBusy || isUnreachable ? 1 : endpoints.limit(slot);
  const inFlight = endpoints.inFlight(slot) + (isReserved ? 0 : 1);
  return limit === 0 || inFlight <= limit;
}
