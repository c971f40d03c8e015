/**
 * The trace context of a request: W3C Trace Context, `traceparent` (3.2) and
 * `tracestate` (3.3).
 *
 * Invariant: what does not parse is never passed on as the gateway's own. A
 * broken `traceparent` begins a new trace, and its `tracestate` goes with it;
 * a broken `tracestate` goes alone.
 *
 * @module
 */
import { type Header, type HeaderList, headerValue } from "../core/request.ts";

/** What is known of the trace that a request belongs to. */
export interface TraceContext {
  /** 32 lower-case hex digits, not all 0. */
  readonly traceId: string;
  /** The caller's span: 16 lower-case hex digits, not all 0. */
  readonly parentId: string;
  /** `SAMPLED_FLAG` and `RANDOM_FLAG`, as far as they are set. */
  readonly flags: number;
}

/** The caller may have recorded its span. */
export const SAMPLED_FLAG = 1;

/** The last 7 bytes of the trace id are random (Level 2, 3.2.2.5). */
const RANDOM_FLAG = 2;

/** Version, trace id, parent id, flags; later versions may go on. */
const TRACEPARENT =
  /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The version that is forbidden, so that it can never be met. */
const VERSION_INVALID = "ff";

const ZEROS = /^0+$/;

/** Most entries of a `tracestate` (3.3.1.1). */
const STATE_ENTRIES_MAX = 32;

/** A vendor's key, with a tenant before `@` or without (3.3.1.3.1). */
const STATE_KEY =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})$/;

/** Printable ASCII but comma and equals sign, no blank last (3.3.1.3.2). */
const STATE_VALUE =
  /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** The context that a request came with; `undefined` for none that is valid. */
export function traceContextOf(headers: HeaderList): TraceContext | undefined {
  const value = headerValue(headers, "traceparent");
  if (value === undefined) return undefined;
  let count = 0;
  for (const [name] of headers) if (name === "traceparent") count += 1;
  const match = count === 1 ? TRACEPARENT.exec(value.trim()) : null;
  if (match === null) return undefined;
  const [, version = "", traceId = "", parentId = "", flags = "", more] = match;
  const isInvalid = version === VERSION_INVALID || ZEROS.test(traceId) ||
    ZEROS.test(parentId);
  if (isInvalid) return undefined;
  // Only what later versions promise to keep is read of them (3.2.4).
  if (version === "00" && more !== undefined) return undefined;
  const known = parseInt(flags, 16) & (SAMPLED_FLAG | RANDOM_FLAG);
  return { traceId, parentId, flags: known };
}

/** The value of a `traceparent` of version 00. */
function traceparent(
  { flags, parentId, traceId }: TraceContext,
): string {
  return `00-${traceId}-${parentId}-${flags.toString(16).padStart(2, "0")}`;
}

/**
 * The fields of a request with another context in place of what it came with.
 *
 * @param keepsState Whether the trace goes on, and with it its `tracestate`.
 */
export function withTraceContext(
  headers: readonly Header[],
  context: TraceContext,
  keepsState: boolean,
): Header[] {
  const keeps = keepsState && isTraceState(headers);
  const out = headers.filter(([name]) =>
    name !== "traceparent" && (keeps || name !== "tracestate")
  );
  out.push(["traceparent", traceparent(context)]);
  return out;
}

/** Whether the `tracestate` fields are one valid list, or there is none. */
function isTraceState(headers: HeaderList): boolean {
  const keys: string[] = [];
  for (const [name, value] of headers) {
    if (name !== "tracestate") continue;
    for (const part of value.split(",")) {
      // Blanks around entries are allowed, and so are empty entries.
      const entry = part.replace(/^[ \t]+|[ \t]+$/g, "");
      if (entry === "") continue;
      const mark = entry.indexOf("=");
      const key = entry.slice(0, mark);
      const isEntry = mark > 0 && STATE_KEY.test(key) &&
        STATE_VALUE.test(entry.slice(mark + 1)) && !keys.includes(key);
      if (!isEntry || keys.length >= STATE_ENTRIES_MAX) return false;
      keys.push(key);
    }
  }
  return true;
}
