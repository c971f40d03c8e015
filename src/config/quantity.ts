/**
 * Durations and sizes as people write them, with a unit.
 *
 * Invariant: a duration without a unit is refused, so that nobody has to know
 * whether a bare number means seconds or milliseconds.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import { DURATION_MS_MAX } from "./duration_limit.ts";

const MS_PER_UNIT: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60 * 1000],
  ["h", 60 * 60 * 1000],
  ["d", 24 * 60 * 60 * 1000],
]);

const BYTES_PER_UNIT: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["B", 1],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
]);

/**
 * Parses a duration such as `500ms`, `30s`, `30m`, `2h` or `1d`.
 *
 * @returns Whole milliseconds, at least 1.
 * @throws {Refusal}
 */
export function parseDurationMs(value: unknown): number {
  const text = typeof value === "string" ? value : "";
  const match = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text);
  const unitMs = MS_PER_UNIT.get(match?.[2] ?? "");
  if (match === null || unitMs === undefined) {
    throw new Refusal("must be a duration such as 500ms, 30s, 30m or 2h");
  }
  const ms = Number(match[1]) * unitMs;
  if (ms < 1 || ms > DURATION_MS_MAX) {
    throw new Refusal("must be over 0 and below 25 days");
  }
  return ms;
}

/**
 * Parses a size such as `64KiB` or `1MiB`, or a number of bytes.
 *
 * @returns Whole bytes from `min` to `max`.
 * @throws {Refusal}
 */
export function parseSizeBytes(
  value: unknown,
  { min, max }: { readonly min: number; readonly max: number },
): number {
  const text = typeof value === "number" ? String(value) : value;
  const match = /^(\d{1,16})(B|KiB|MiB|GiB)?$/
    .exec(typeof text === "string" ? text : "");
  const unitBytes = BYTES_PER_UNIT.get(match?.[2] ?? "");
  if (match === null || unitBytes === undefined) {
    throw new Refusal("must be a size such as 64KiB, 1MiB or 1048576");
  }
  const bytes = Number(match[1]) * unitBytes;
  if (bytes < min || bytes > max) {
    throw new Refusal(`must be between ${sizeText(min)} and ${sizeText(max)}`);
  }
  return bytes;
}

/** Writes a number of bytes with the largest unit that divides it. */
export function sizeText(bytes: number): string {
  for (const [unit, unitBytes] of [...BYTES_PER_UNIT].reverse()) {
    if (unitBytes > 1 && bytes > 0 && bytes % unitBytes === 0) {
      return `${bytes / unitBytes}${unit}`;
    }
  }
  return `${bytes}B`;
}
