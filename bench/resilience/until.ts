/**
 * Waiting for something to be so.
 *
 * Invariant: every wait has a limit.
 *
 * @module
 */

/** A program listens, and a gateway is ready, within some seconds or never. */
const LOOKS_MAX = 200;
const LOOK_PAUSE_MS = 50;

/** Looks again and again until `isSo`; fails when that takes seconds. */
export async function until(
  what: string,
  isSo: () => Promise<boolean>,
): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
  }
  throw new Error(`Cannot wait longer for ${what}`);
}
