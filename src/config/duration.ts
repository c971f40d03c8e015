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

/** Units as one writes them, the largest first. */
const UNITS_MS: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 24 * 60 * 60 * 1_000],
  ["h", 60 * 60 * 1_000],
  ["m", 60 * 1_000],
  ["s", 1_000],
];

/**
 * Reads a duration in milliseconds, or `none` as `undefined`.
 *
 * @throws {Refusal}
 */
export function readDurationOrNone(value: unknown): number | undefined {
  return value === "none" ? undefined : parseDurationMs(value);
}

/**
 * Reads a duration in milliseconds, or one of nothing in any unit as 0.
 *
 * @throws {Refusal}
 */
export function readDurationOrZero(value: unknown): number {
  const isZero = typeof value === "string" && /^0(?:ms|s|m|h|d)$/.test(value);
  return isZero ? 0 : parseDurationMs(value);
}

/** Writes whole milliseconds with the largest unit that divides them. */
export function durationText(ms: number): string {
  if (ms === 0) return "0s";
  const unit = UNITS_MS.find(([, unitMs]) => ms % unitMs === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}
