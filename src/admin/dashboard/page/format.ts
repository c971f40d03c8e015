/**
 * Numbers as people read them.
 *
 * Invariant: three digits or so, always with a unit where there is one, and
 * the same width for neighbors in time, so that nothing jumps.
 *
 * @module
 */

/** What stands where nothing is known. */
const UNKNOWN = "–";

/** Space that keeps a number and its unit on one line. */
const GAP = "\u202f";

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** A count, a rate or a share (0 to 1). */
export function number(
  value: number | null,
  kind: "count" | "rate" | "share" = "count",
): string {
  if (value === null || !Number.isFinite(value)) return UNKNOWN;
  if (kind === "count") return Math.round(value).toLocaleString("en-US");
  const shown = kind === "share" ? value * 100 : value;
  // 99.96 % is not a whole 100.
  const isExact = shown === 0 || (kind === "share" && shown === 100);
  const text = isExact || shown >= 100
    ? Math.round(shown).toLocaleString("en-US")
    : shown.toFixed(shown < 10 && kind === "rate" ? 2 : 1);
  return kind === "share" ? text + GAP + "%" : text;
}

/**
 * A span of time, in its two largest units at most; in whole seconds it
 * changes no more often than a person would say it.
 */
export function duration(
  ms: number | null,
  precision: "fine" | "whole" = "fine",
): string {
  if (ms === null || !Number.isFinite(ms)) return UNKNOWN;
  if (precision === "whole" && ms < MINUTE_MS) {
    return `${Math.max(0, Math.floor(ms / SECOND_MS))}${GAP}s`;
  }
  if (ms < SECOND_MS) return `${Math.max(0, Math.round(ms))}${GAP}ms`;
  if (ms < MINUTE_MS) {
    const digits = ms < 10 * SECOND_MS ? 2 : 1;
    return `${(ms / SECOND_MS).toFixed(digits)}${GAP}s`;
  }
  if (ms < HOUR_MS) return pair(ms, [MINUTE_MS, "min"], [SECOND_MS, "s"]);
  if (ms < DAY_MS) return pair(ms, [HOUR_MS, "h"], [MINUTE_MS, "min"]);
  return pair(ms, [DAY_MS, "d"], [HOUR_MS, "h"]);
}

/** Bytes, by powers of 1,024. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 1_024 && unit < BYTE_UNITS.length - 1) {
    value /= 1_024;
    unit++;
  }
  const text = unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1);
  return text + GAP + BYTE_UNITS[unit];
}

type Unit = readonly [ms: number, name: string];

function pair(ms: number, [large, one]: Unit, [small, two]: Unit): string {
  const first = Math.floor(ms / large);
  const second = Math.floor((ms % large) / small);
  const rest = second === 0 ? "" : ` ${second}${GAP}${two}`;
  return `${first}${GAP}${one}${rest}`;
}
