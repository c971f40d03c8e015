/**
 * Totals of the last seconds, from which figures are made.
 *
 * The gateway sends totals since its start. A figure is the difference of two
 * of them, some seconds apart: long enough to be calm, short enough to be now.
 *
 * Invariant: nothing here grows beyond its bound, and a total that falls (the
 * gateway has been started anew) is never taken for a difference.
 *
 * @module
 */

/** Seconds between the totals that are compared. */
export const WINDOW_S = 10;

/** Totals kept, should the clock stand still: two windows of one a second. */
const KEPT_MAX = 2 * WINDOW_S;

/** Totals by name at one moment. */
interface Totals {
  readonly atMs: number;
  readonly values: Readonly<Record<string, number>>;
}

/** How much totals have grown during the last seconds. */
export class RecentTotals {
  #kept: Totals[] = [];

  /** Takes the totals of a moment; earlier ones are dropped when any fell. */
  add(atMs: number, values: Readonly<Record<string, number>>): void {
    const last = this.#kept.at(-1);
    if (last !== undefined && isAnew(last, atMs, values)) this.#kept = [];
    this.#kept.push({ atMs, values });
    const oldestMs = atMs - WINDOW_S * 1_000;
    // One that is just outside stays, so that the window is a whole one.
    while (this.#kept.length > 2 && (this.#kept[1]?.atMs ?? atMs) <= oldestMs) {
      this.#kept.shift();
    }
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
  }

  /** Growth of a total; 0 while there is nothing to compare. */
  growth(name: string): number {
    const [first, last] = [this.#kept[0], this.#kept.at(-1)];
    if (first === undefined || last === undefined) return 0;
    return (last.values[name] ?? 0) - (first.values[name] ?? 0);
  }

  /** Growth of a total per second; `null` while there is nothing to compare. */
  perSecond(name: string): number | null {
    const [first, last] = [this.#kept[0], this.#kept.at(-1)];
    if (first === undefined || last === undefined) return null;
    const seconds = (last.atMs - first.atMs) / 1_000;
    return seconds > 0 ? this.growth(name) / seconds : null;
  }

  /** Growth of one total over that of another; `null` when that is none. */
  ratio(name: string, of: string): number | null {
    const whole = this.growth(of);
    return whole > 0 ? this.growth(name) / whole : null;
  }
}

function isAnew(
  last: Totals,
  atMs: number,
  values: Readonly<Record<string, number>>,
): boolean {
  if (atMs <= last.atMs) return true;
  return Object.entries(last.values).some(([name, value]) =>
    (values[name] ?? 0) < value
  );
}
