/**
 * What the page remembers of a figure: its last minutes, for a line.
 *
 * Invariant: it is as long as its bound at most, and its times rise.
 *
 * @module
 */

/** Values of a series: five minutes of one a second. */
export const SERIES_MAX = 300;

/** The last values of a figure, with their times in seconds. */
export class Series {
  readonly xs: number[] = [];
  readonly ys: (number | null)[] = [];

  /** Takes a value; `null` leaves a gap in the line. */
  add(atMs: number, value: number | null): void {
    const x = atMs / 1_000;
    // Charts need times that rise, and clocks may be set back.
    while (this.xs.length > 0 && (this.xs.at(-1) ?? 0) >= x) {
      this.xs.pop();
      this.ys.pop();
    }
    this.xs.push(x);
    this.ys.push(value);
    if (this.xs.length <= SERIES_MAX) return;
    this.xs.shift();
    this.ys.shift();
  }
}
