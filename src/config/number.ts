/**
 * Numbers with bounds.
 *
 * Invariant: text and number are read alike, as flags and variables are text.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";

/** Bounds of a number, both included. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/**
 * Parses a whole number from `min` to `max`.
 *
 * @throws {Refusal}
 */
export function parseInteger(value: unknown, { min, max }: Bounds): number {
  const number = toNumber(value);
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new Refusal(`must be a whole number from ${min} to ${max}`);
  }
  return number;
}

/**
 * Parses a number from `min` to `max`.
 *
 * @throws {Refusal}
 */
export function parseNumber(value: unknown, { min, max }: Bounds): number {
  const number = toNumber(value);
  if (!(number >= min && number <= max)) {
    throw new Refusal(`must be a number from ${min} to ${max}`);
  }
  return number;
}

/** NaN for whatever is neither a number nor a plain decimal one in text. */
function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  const isDecimal = typeof value === "string" &&
    /^-?\d{1,16}(\.\d{1,16})?$/.test(value);
  return isDecimal ? Number(value) : NaN;
}
