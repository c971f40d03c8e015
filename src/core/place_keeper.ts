/**
 * Where freed places go when whoever frees them has no waiting calls itself:
 * to the worker of the best waiting call, or back to the endpoint.
 *
 * Invariant: a place is handed over or freed, never both, and it is handed
 * over only while its endpoint takes work within its limit.
 *
 * @module
 */
import type { EndpointTable } from "./endpoint_table.ts";
import type { QueueBoard } from "./queue_board.ts";

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
    if (!takesWork(this.#endpoints, slot, nowMs)) return false;
    const best = this.#board.best(slot);
    if (best < 0) return false;
    this.#board.grant(best, slot);
    return true;
  }
}

/** Whether an endpoint takes work, and holds no more than it may. */
export function takesWork(
  endpoints: EndpointTable,
  slot: number,
  nowMs: number,
): boolean {
  const limit = endpoints.limit(slot);
  return endpoints.state(slot) === "ready" && !endpoints.isBusy(slot, nowMs) &&
    (limit === 0 || endpoints.inFlight(slot) <= limit);
}
