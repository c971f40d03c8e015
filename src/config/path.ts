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

/** The same, with room for the name of a file in it. */
const DIRECTORY_BYTES_MAX = 4_000;

/**
 * Reads the path of a file, or `none` as `undefined`.
 *
 * @throws {Refusal}
 */
export function readPathOrNone(value: unknown): string | undefined {
  return readPath(value, { what: "a file", bytesMax: PATH_BYTES_MAX });
}

/**
 * Reads the path of a directory, or `none` as `undefined`.
 *
 * @throws {Refusal}
 */
export function readDirectoryOrNone(value: unknown): string | undefined {
  return readPath(value, {
    what: "a directory",
    bytesMax: DIRECTORY_BYTES_MAX,
  });
}

function readPath(
  value: unknown,
  kind: { readonly what: string; readonly bytesMax: number },
): string | undefined {
  if (value === "none") return undefined;
  const isPath = typeof value === "string" && value.trim() !== "" &&
    !value.includes("\0") &&
    new TextEncoder().encode(value).length <= kind.bytesMax;
  if (isPath) return value;
  throw new Refusal(`must be the path of ${kind.what}, or none`);
}
