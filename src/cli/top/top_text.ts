/**
 * Values of a status as short text for a terminal.
 *
 * Paths and causes come from clients and engines. A terminal obeys what it is
 * sent, so nothing of theirs may reach it that is not plainly visible, and one
 * character must take one column.
 *
 * Invariant: what is not known is a dash, never a zero.
 *
 * @module
 */

/** What is shown for what is not known. */
const UNKNOWN = "-";

/** What is shown for a character that is not. */
const HIDDEN = "?";

/** The last character that is sure to take one column: end of Latin. */
const NARROW_MAX = 0x24f;

/** Bytes of each unit to the next. */
const UNIT_STEP = 1_024;

const BYTE_UNITS: readonly string[] = ["B", "KiB", "MiB", "GiB", "TiB"];

/** From here on a number has its thousands marked. */
const MARKED_MIN = 1_000;

/** Milliseconds of each unit, the largest first. */
const AGE_UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
];

/** Text from elsewhere, made harmless: each character takes one column. */
export function plainText(value: unknown): string {
  if (typeof value !== "string") return UNKNOWN;
  let text = "";
  for (const character of value) {
    const isNarrow = (character.codePointAt(0) ?? 0) <= NARROW_MAX;
    text += isNarrow && !/\p{C}|\p{M}/u.test(character) ? character : HIDDEN;
  }
  return text === "" ? UNKNOWN : text;
}

/** Numbers as text; each takes what may be missing from an answer. */
export const shown = {
  /** A whole number. */
  count(value: unknown): string {
    return isNumber(value) ? marked(Math.round(value)) : UNKNOWN;
  },

  /** Something a second. */
  rate(value: unknown): string {
    if (!isNumber(value)) return UNKNOWN;
    return value >= MARKED_MIN ? marked(Math.round(value)) : value.toFixed(1);
  },

  /** A share from 0 to 1. */
  share(value: unknown): string {
    return isNumber(value) ? `${Math.round(100 * value)}%` : UNKNOWN;
  },

  bytes(value: unknown): string {
    if (!isNumber(value)) return UNKNOWN;
    let size = value;
    let unit = 0;
    while (size >= UNIT_STEP && unit < BYTE_UNITS.length - 1) {
      size /= UNIT_STEP;
      unit++;
    }
    const digits = unit === 0 || size >= 100 ? 0 : 1;
    return `${size.toFixed(digits)} ${BYTE_UNITS[unit]}`;
  },

  /** How long something took, in milliseconds. */
  took(value: unknown): string {
    if (!isNumber(value)) return UNKNOWN;
    if (value < 1_000) return `${Math.round(value)}ms`;
    return value < 60_000 ? `${(value / 1_000).toFixed(1)}s` : age(value);
  },

  /** How long ago something was, or how long it has been, in milliseconds. */
  age(value: unknown): string {
    return isNumber(value) ? age(value) : UNKNOWN;
  },
} as const;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function marked(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The two largest units that there are. */
function age(ms: number): string {
  let rest = Math.max(0, ms);
  const parts: string[] = [];
  for (const [unit, unitMs] of AGE_UNITS) {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    if (count > 0 || parts.length > 0) parts.push(`${count}${unit}`);
  }
  parts.push(`${Math.floor(rest / 1_000)}s`);
  return parts.slice(0, 2).join("");
}
