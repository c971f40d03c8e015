/**
 * Paths of files, such as those that hold secrets.
 *
 * Invariant: a path that passes is one that an operating system can open.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";

/** Linux takes no longer path (`PATH_MAX`). */
const PATH_BYTES_MAX = 4_095;

/**
 * Reads the path of a file, or `none` as `undefined`.
 *
 * @throws {Refusal}
 */
export function readPathOrNone(value: unknown): string | undefined {
  if (value === "none") return undefined;
  const isPath = typeof value === "string" && value.trim() !== "" &&
    !value.includes("\0") &&
    new TextEncoder().encode(value).length <= PATH_BYTES_MAX;
  if (isPath) return value;
  throw new Refusal("must be the path of a file, or none");
}
