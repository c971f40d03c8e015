/**
 * What a client may say about a call for the scheduler: how urgent it is, how
 * long it will take, and that it is its session's last.
 *
 * Invariant: a hint never decides more than the operator lets it; whatever is
 * out of bounds is moved to the bound, and what is no value is refused, so
 * that nobody relies on a hint that was never heard.
 *
 * @module
 */
import { GatewayError } from "../core/error.ts";
import type { HeaderList } from "../core/request.ts";

/** The hints of one request. */
export interface Hints {
  /** Levels to move up, or down where negative; not yet clamped. */
  readonly priority: number;
  /** How long the call is expected to be served; `undefined` for unknown. */
  readonly expectedMs: number | undefined;
  /** Whether the session is over with this call. */
  readonly isFinal: boolean;
}

/** The hints of a request that has none. */
export const NO_HINTS: Hints = {
  priority: 0,
  expectedMs: undefined,
  isFinal: false,
};

const PRIORITY = "x-tryst-priority";
const EXPECTED = "x-tryst-expected-ms";
const FINAL = "x-session-final";

/** @throws {GatewayError} `request_malformed` that names the header. */
export function readHints(headers: HeaderList): Hints {
  let hints: { -readonly [Name in keyof Hints]: Hints[Name] } | undefined;
  for (const [name, value] of headers) {
    // Nearly every name ends here, before it is compared as a whole.
    if (!name.startsWith("x-")) continue;
    if (name === PRIORITY) {
      hints ??= { ...NO_HINTS };
      hints.priority = readNumber(name, value, /^[+-]?[0-9]{1,9}$/);
    } else if (name === EXPECTED) {
      hints ??= { ...NO_HINTS };
      hints.expectedMs = readNumber(name, value, /^[0-9]{1,9}$/);
    } else if (name === FINAL) {
      hints ??= { ...NO_HINTS };
      hints.isFinal = readTruth(name, value);
    }
  }
  return hints ?? NO_HINTS;
}

function readNumber(name: string, value: string, form: RegExp): number {
  const text = value.trim();
  if (!form.test(text)) refuse(name, "a whole number");
  return Number(text);
}

function readTruth(name: string, value: string): boolean {
  const text = value.trim().toLowerCase();
  if (text !== "true" && text !== "false") refuse(name, "true or false");
  return text === "true";
}

function refuse(name: string, wanted: string): never {
  throw new GatewayError("request_malformed", {
    message: `The header ${name} must be ${wanted}`,
    param: name,
  });
}
