/**
 * Which versions of Deno the gateway runs on.
 *
 * Deno 2.8.0 to 2.9.5 damage request bodies on the way through: they can be
 * cut short without an error (denoland/deno#34830), stall when the answer
 * begins early (#36624), or cost the connection (#36657). Versions before
 * 2.7.11 are not tested.
 *
 * Invariant: a refused version is refused before anything listens.
 *
 * @module
 */

/** A version as comparable numbers. */
type Version = readonly [major: number, minor: number, patch: number];

/** The oldest version that the tests run on. */
const OLDEST: Version = [2, 7, 11];

/** The first version with the damage, and the first without it again. */
const DAMAGED_FROM: Version = [2, 8, 0];
const DAMAGED_BEFORE: Version = [2, 9, 6];

/**
 * Why a version of Deno cannot be used; `undefined` when it can.
 *
 * @param version As in `Deno.version.deno`, for example `2.9.6`.
 */
export function denoVersionProblem(version: string): string | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  const wanted = "want 2.9.6 or later, or 2.7.11 or a later 2.7";
  if (match === null) return `Cannot read Deno version "${version}": ${wanted}`;
  const found: Version = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (isBefore(found, OLDEST)) {
    return `Cannot run on Deno ${version} as it is too old: ${wanted}`;
  }
  if (!isBefore(found, DAMAGED_FROM) && isBefore(found, DAMAGED_BEFORE)) {
    return `Cannot run on Deno ${version} as it damages request bodies: ` +
      wanted;
  }
  return undefined;
}

function isBefore(a: Version, b: Version): boolean {
  if (a[0] !== b[0]) return a[0] < b[0];
  if (a[1] !== b[1]) return a[1] < b[1];
  return a[2] < b[2];
}
