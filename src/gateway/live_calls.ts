/**
 * The requests under way, as they can be shown to whoever operates the
 * gateway.
 *
 * Invariant: nothing of a body, a header value or a query is in it. Where a
 * session key may stand in the path, its template is shown instead, in every
 * phase; the session itself is named by the first digits of its hash.
 *
 * @module
 */
import { shortHash } from "../core/hash.ts";
import type { KeyPlan } from "../core/scan/key_plan.ts";
import type { RequestHead } from "../core/request.ts";
import type { Roster } from "../core/roster.ts";
import type { Call } from "./call.ts";
import type { Phase } from "./phase.ts";

/** Paths are cut at this many characters; no known API comes near. */
const PATH_CHARS_MAX = 256;

/** One request under way. */
export interface LiveCall {
  readonly id: string;
  readonly phase: Phase;
  /** Milliseconds since its head was read. */
  readonly ageMs: number;
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  /** Where it was last attempted. */
  readonly endpoint: string | undefined;
  /** First 8 hex digits of the session key's hash. */
  readonly session: string | undefined;
}

/** What calls are shown with. */
export interface LiveView {
  readonly count: number;
  readonly nowMs: number;
  readonly plan: KeyPlan;
}

/** The oldest of `calls`, the oldest first, at most `view.count`. */
export function oldestCalls(calls: Roster<Call>, view: LiveView): LiveCall[] {
  const oldest: Call[] = [];
  // There may be a million calls: most are looked at once and passed over.
  calls.forEach((call) => {
    const last = oldest.at(-1);
    const isFull = oldest.length >= view.count;
    if (isFull && !(last && call.acceptedAtMs < last.acceptedAtMs)) return;
    const place = oldest.findIndex((other) =>
      call.acceptedAtMs < other.acceptedAtMs
    );
    oldest.splice(place < 0 ? oldest.length : place, 0, call);
    if (isFull) oldest.pop();
  });
  return oldest.map((call) => shown(call, view));
}

function shown(call: Call, { nowMs, plan }: LiveView): LiveCall {
  const { head } = call.request;
  const hash = call.sniffed?.found?.hash;
  return {
    id: call.id,
    phase: call.phase,
    ageMs: Math.max(0, Math.round(nowMs - call.acceptedAtMs)),
    method: head.method,
    path: shownPath(head, plan),
    endpoint: call.target?.id,
    session: hash && shortHash(hash),
  };
}

/** The path without its query; its template where a key may stand in it. */
export function shownPath(head: RequestHead, plan: KeyPlan): string {
  return plan.pathTemplate(head) ?? pathOf(head);
}

function pathOf({ target }: RequestHead): string {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  return path.slice(0, PATH_CHARS_MAX);
}
