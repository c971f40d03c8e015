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
    const isUseful = this.#board.waitingCount > 0 &&
      takesWork(this.#endpoints, slot, nowMs);
    const best = isUseful ? this.#board.best(slot) : -1;
    if (best >= 0) this.#board.grant(best, slot);
    else this.#endpoints.release(slot);
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
