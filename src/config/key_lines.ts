/**
 * The file of API keys: one key a line.
 *
 *     # The search team; the second key is the next one.
 *     search:sk-0123456789abcdef expires=2027-01-31
 *     search:sha256=HEX
 *
 * Invariant: what is refused is told by the number of its line, and never
 * shows a key, nor any part of one.
 *
 * @module
 */
import {
  API_KEY_CHARS_MAX,
  API_KEYS_MAX,
  type ApiKey,
} from "../core/api_key.ts";
import { digestOfKey } from "../core/tenants/api_keys.ts";
import { DEFAULT_TENANT, TENANT_NAME, TENANTS_MAX } from "../core/tenant.ts";

/** Visible ASCII, as a header must carry it; 16 is past all guessing. */
const KEY = new RegExp(`^[\\x21-\\x7e]{16,${API_KEY_CHARS_MAX}}$`);

const DIGEST = /^sha256=([0-9a-f]{64})$/i;

/** A date (RFC 3339, 5.6: full-date). */
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;

const DAY_MS = 86_400_000;

/** What a line is to be. */
const WANTED = 'want TENANT:KEY or TENANT:sha256=HEX, then " expires=DATE"' +
  " where it is to expire";

/**
 * Reads the keys.
 *
 * @throws {TypeError} that names the line.
 */
export function parseKeyLines(text: string): readonly ApiKey[] {
  const keys: ApiKey[] = [];
  const lineOf = new Map<string, number>();
  const tenants = new Set<string>();
  for (const [index, line] of text.split("\n").entries()) {
    const number = index + 1;
    const content = line.trim();
    if (content === "" || content.startsWith("#")) continue;
    const key = parseLine(content, number);
    const former = lineOf.get(key.digest);
    if (former !== undefined) refuse(number, `it repeats line ${former}`);
    lineOf.set(key.digest, number);
    tenants.add(key.tenant);
    keys.push(key);
    if (keys.length > API_KEYS_MAX) {
      refuse(number, `there are more than ${API_KEYS_MAX} keys`);
    }
    if (tenants.size > TENANTS_MAX) {
      refuse(number, `there are more than ${TENANTS_MAX} tenants`);
    }
  }
  return keys;
}

function parseLine(content: string, number: number): ApiKey {
  const [word = "", option, ...rest] = content.split(/\s+/);
  const colon = word.indexOf(":");
  const tenant = word.slice(0, Math.max(colon, 0));
  const secret = word.slice(colon + 1);
  if (colon < 0 || rest.length > 0) refuse(number, WANTED);
  if (!TENANT_NAME.test(tenant)) {
    refuse(number, "want a tenant of 1 to 64 letters, digits, . _ or -");
  }
  if (tenant === DEFAULT_TENANT) {
    refuse(number, `"${DEFAULT_TENANT}" stands for all tenants without limits`);
  }
  return {
    tenant,
    digest: digestOf(secret, number),
    expiresAtMs: option === undefined ? undefined : expiryOf(option, number),
  };
}

function digestOf(secret: string, number: number): string {
  const digest = DIGEST.exec(secret)?.[1];
  if (digest !== undefined) return digest.toLowerCase();
  if (/^sha256=/i.test(secret)) {
    refuse(number, "want 64 hex digits after sha256=");
  }
  if (!KEY.test(secret)) {
    refuse(
      number,
      `want a key of 16 to ${API_KEY_CHARS_MAX} characters of visible ASCII`,
    );
  }
  return digestOfKey(secret);
}

/** The beginning of that day in UTC. */
function expiryOf(option: string, number: number): number {
  const [name, value = ""] = option.split("=");
  const match = DATE.exec(value);
  if (name !== "expires" || match === null) refuse(number, WANTED);
  const [, year, month, day] = match.map(Number);
  const days = daysFrom1970(year ?? 0, month ?? 0, day ?? 0);
  if (days === undefined) refuse(number, "want a day of the calendar");
  return days * DAY_MS;
}

/** Days of a Gregorian date since the Unix epoch, if there is such a day. */
function daysFrom1970(
  year: number,
  month: number,
  day: number,
): number | undefined {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const lengths = [
    31,
    isLeap ? 29 : 28,
    31,
    30,
    31,
    30,
    31,
    31,
    30,
    31,
    30,
    31,
  ];
  if (year < 1970 || day < 1 || day > (lengths[month - 1] ?? 0)) {
    return undefined;
  }
  const past = year - 1;
  const leapDays = Math.floor(past / 4) - Math.floor(past / 100) +
    Math.floor(past / 400);
  // Of the years 1 to 1969, 477 were leap years.
  const yearDays = (year - 1970) * 365 + leapDays - 477;
  const monthDays = lengths.slice(0, month - 1)
    .reduce((sum, length) => sum + length, 0);
  return yearDays + monthDays + day - 1;
}

function refuse(number: number, why: string): never {
  throw new TypeError(`Cannot use line ${number} of the API keys: ${why}`);
}
