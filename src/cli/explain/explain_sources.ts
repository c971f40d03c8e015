/**
 * Why a session-key source has a key of a request, or has none.
 *
 * The gateway does not keep that; here each source is asked by itself, with
 * the same scanner. Which one wins is the gateway's own finding.
 *
 * Invariant: no value is shown, nor any part of one.
 *
 * @module
 */
import { isBlank } from "../../core/bytes.ts";
import { JsonScanner } from "../../core/scan/json_scanner.ts";
import { MemberPaths } from "../../core/scan/member_paths.ts";
import type { RequestHead } from "../../core/request.ts";
import type { ScanValue } from "../../core/scan/scan_sink.ts";
import {
  FILTER_VALUE_BYTES_MAX,
  SESSION_KEY_BYTES_MAX,
} from "../../core/session_key.ts";
import type { SessionKeySource } from "../../core/session_key_source.ts";

/** What a source finds. */
export interface SourceFinding {
  /** Whether it has a key. */
  readonly isUsable: boolean;
  /** In a few words. */
  readonly text: string;
}

/** What is looked at. */
export interface LookedAt {
  readonly head: RequestHead;
  /** The body as the scanner sees it, decoded; `undefined` for none. */
  readonly body: Uint8Array | undefined;
}

const ABSENT: SourceFinding = { isUsable: false, text: "absent" };
const BLANK: SourceFinding = { isUsable: false, text: "blank" };
const UNREADABLE: SourceFinding = {
  isUsable: false,
  text: "absent, as far as the body is JSON",
};

/** The only path of a scan for one source. */
const ONLY = 1;

/** Asks one source. */
export function findingOf(
  source: SessionKeySource,
  { body, head }: LookedAt,
): SourceFinding {
  if (source.kind === "head") {
    const value = source.find(head);
    if (value !== undefined) return judge(source, value);
    const { header } = source;
    const isThere = head.headers.some(([name]) => name === header);
    return isThere ? BLANK : ABSENT;
  }
  if (body === undefined) return { isUsable: false, text: "no body" };
  return scanned(source, body) ?? reasonOf(body, source.path);
}

/** What is made of a value, as `key_plan.ts` and `body_sniff.ts` do. */
function judge(
  { filter }: SessionKeySource,
  value: Uint8Array,
): SourceFinding {
  if (filter !== undefined && value.length > FILTER_VALUE_BYTES_MAX) {
    return tooLong(value.length);
  }
  const key = filter === undefined ? value : filter(value);
  if (key === undefined) {
    return { isUsable: false, text: "holds no session for its filter" };
  }
  if (isBlank(key)) return BLANK;
  return key.length > SESSION_KEY_BYTES_MAX ? THROUGH_DIGEST : USABLE;
}

const USABLE: SourceFinding = { isUsable: true, text: "has a key" };

const THROUGH_DIGEST: SourceFinding = {
  isUsable: true,
  text: `has a key of over ${SESSION_KEY_BYTES_MAX} bytes, which counts` +
    " through its SHA-256",
};

function tooLong(byteCount?: number): SourceFinding {
  const length = byteCount === undefined ? "" : ` with ${byteCount} bytes`;
  return {
    isUsable: false,
    text: `too long for its filter${length}: at most ${FILTER_VALUE_BYTES_MAX}`,
  };
}

/** What the scanner finds; `undefined` when nothing. */
function scanned(
  source: SessionKeySource & { readonly kind: "body" },
  body: Uint8Array,
): SourceFinding | undefined {
  let finding: SourceFinding | undefined;
  const bytesMax = source.filter === undefined
    ? SESSION_KEY_BYTES_MAX
    : FILTER_VALUE_BYTES_MAX;
  const paths = new MemberPaths([{ members: source.path, bytesMax }]);
  const found = (_index: number, value: ScanValue): number => {
    if (value.kind === "boolean") return ONLY;
    const judged = value.kind !== "digest"
      ? judge(source, value.bytes)
      : source.filter === undefined
      ? THROUGH_DIGEST
      : tooLong();
    // The first usable value wins; of useless ones the first is told.
    if (judged.isUsable || finding === undefined) finding = judged;
    return judged.isUsable ? 0 : ONLY;
  };
  const scanner = new JsonScanner(paths, { found }, ONLY);
  if (scanner.push(body) === "more") scanner.end();
  return finding;
}

/** Why there is no value that a scanner reports. */
function reasonOf(
  body: Uint8Array,
  path: readonly string[],
): SourceFinding {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return UNREADABLE;
  }
  for (const name of path) {
    const isObject = typeof value === "object" && value !== null &&
      !Array.isArray(value);
    if (!isObject || !Object.hasOwn(value as object, name)) return ABSENT;
    value = (value as Record<string, unknown>)[name];
  }
  if (typeof value === "string") return BLANK;
  const kind = value === null
    ? "null"
    : Array.isArray(value)
    ? "a list"
    : typeof value === "object"
    ? "an object"
    : "a boolean";
  return { isUsable: false, text: `${kind}, which names no session` };
}
