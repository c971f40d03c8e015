/**
 * What both threads of the hand-over measurement share.
 *
 * @module
 */
import type { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { type Pool, Pools } from "../../src/core/placement/pool.ts";
import { buildPools } from "../../src/core/placement/pool_plan.ts";

/** The buffers of one measurement. */
export interface HandOver {
  readonly board: SharedArrayBuffer;
  readonly endpoints: SharedArrayBuffer;
  /** One number: when the place was released. */
  readonly stamps: SharedArrayBuffer;
}

/** The pool of the one endpoint, in slot 0. */
export function poolOf(endpoints: EndpointTable): Pool {
  const endpoint = { id: "a", weight: 1, slot: 0, generation: 0 };
  const plan = buildPools([{ ...endpoint, models: undefined }]);
  return new Pools(plan, endpoints).whole;
}

/** Milliseconds on a clock that all threads share. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
