/**
 * A request to be placed, and which endpoints can take it.
 *
 * Invariant: an endpoint that has failed the request is never offered to it
 * again, and one that is busy only when every other one is.
 *
 * @module
 */
import type { KeyHash } from "../hash.ts";
import type { Pool } from "./pool.ts";

/** What a placement depends on. */
export interface PlaceRequest {
  /** Hash of the session key, or `undefined` when the request has none. */
  readonly key: KeyHash | undefined;
  readonly pool: Pool;
  readonly nowMs: number;
  /** Whether it would rather wait for its session's endpoint than spill. */
  readonly isPatient?: boolean;
  /** Slots of endpoints that have failed this very request already. */
  readonly tried?: readonly number[] | undefined;
}

/** What it takes to tell which endpoints a request can go to. */
type Asked = Pick<PlaceRequest, "nowMs" | "pool" | "tried">;

/** Whether the endpoint in a slot has failed the request already. */
export function isTried(request: Asked, slot: number): boolean {
  return request.tried !== undefined && request.tried.includes(slot);
}

/**
 * Whether a busy endpoint is passed by: it counts as full while another is not
 * busy. When all are, one of them may as well say for how long.
 */
export function isPassedBy(request: Asked, index: number): boolean {
  const { pool, nowMs } = request;
  return pool.isBusy(index, nowMs) &&
    hasEligible(request, (other) => !pool.isBusy(other, nowMs));
}

/** Whether an eligible endpoint that has not failed the request `matches`. */
export function hasEligible(
  request: Asked,
  matches: (index: number) => boolean,
): boolean {
  const { pool } = request;
  for (let index = 0; index < pool.count; index++) {
    const isOpen = pool.isEligible(index) &&
      !isTried(request, pool.slot(index));
    if (isOpen && matches(index)) return true;
  }
  return false;
}
