/**
 * Durations that may also be absent: `none` for no limit, `0s` for at once.
 *
 * They are two, as each key takes only the one that means something there.
 *
 * Invariant: what is absent is written in one way only; `0ms` is refused.
 *
 * @module
 */
import { parseDurationMs } from "./quantity.ts";

/**
 * Reads a duration in milliseconds, or `none` as `undefined`.
 *
 * @throws {Refusal}
 */
export function readDurationOrNone(value: unknown): number | undefined {
  return value === "none" ? undefined : parseDurationMs(value);
}

/**
 * Reads a duration in milliseconds, or `0s` as 0.
 *
 * @throws {Refusal}
 */
export function readDurationOrZero(value: unknown): number {
  return value === "0s" ? 0 : parseDurationMs(value);
}
