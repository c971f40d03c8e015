/**
 * How urgent a call is that has to wait, and until when it waits for what.
 *
 * Invariant: everything is known in the moment in which the call begins to
 * wait; from then on only time changes it (`waiting_call.ts`).
 *
 * @module
 */
import type { Held, Placement, PlaceRequest } from "../placement/placement.ts";
import { type SchedulingPolicy, toLevel } from "../scheduling_policy.ts";
import type { SessionTable } from "../sessions/session_table.ts";
import { boostAtMs, type WaitingCallFacts } from "./waiting_call.ts";

/** What is configured of waiting; durations of `Infinity` never end. */
export interface UrgencySettings {
  /** Waited over served at which a call is promoted to the top level. */
  readonly boostRatio: number;
  readonly overdueMs: number;
  readonly timeoutMs: number;
  /** How long a call waits for its session's own endpoint alone. */
  readonly patienceMs: number;
}

/** What decides. */
export interface UrgencyParts {
  readonly placement: Placement;
  readonly sessions: SessionTable;
  readonly scheduling: SchedulingPolicy;
  readonly settings: UrgencySettings;
}

/** What a client says of its call. */
export interface UrgencyHints {
  /** How long the call is expected to be served; `undefined` for unknown. */
  readonly expectedMs: number | undefined;
  /** Levels to move up, or down where negative, within the client's bounds. */
  readonly priority: number;
}

/** What it comes to. */
export type Urgency = Pick<
  WaitingCallFacts,
  | "boostAtMs"
  | "boundSlot"
  | "level"
  | "overdueAtMs"
  | "patienceUntilMs"
  | "timeoutAtMs"
>;

/** The urgency of a request that holds its session and begins to wait. */
export function urgencyOf(
  parts: UrgencyParts,
  { request, held }: { readonly request: PlaceRequest; readonly held: Held },
  hints: UrgencyHints,
): Urgency {
  const { placement, settings } = parts;
  const { nowMs, pool } = request;
  const boundSlot = placement.wantedSlot(request, held);
  const bound = pool.indexAt(boundSlot);
  // An engine that asked to be left alone is not worth waiting for.
  const isWorthIt = bound >= 0 && !pool.isBusy(bound, nowMs);
  const past = {
    servedMs: held.inheritedMs,
    waitedMs: held.inheritedWaitMs,
    expectedMs: hints.expectedMs ?? 0,
  };
  return {
    boundSlot,
    level: toLevel(levelOf(parts, held, hints) - hints.priority),
    patienceUntilMs: isWorthIt ? nowMs + settings.patienceMs : nowMs,
    boostAtMs: boostAtMs(past, settings.boostRatio, nowMs),
    overdueAtMs: nowMs + settings.overdueMs,
    timeoutAtMs: nowMs + settings.timeoutMs,
  };
}

function levelOf(
  { scheduling, sessions }: UrgencyParts,
  { inheritedMs, record }: Held,
  { expectedMs }: UrgencyHints,
): number {
  const isTracked = record >= 0;
  return toLevel(scheduling.level({
    criticalPathMs: inheritedMs,
    attainedMs: isTracked ? sessions.attainedMs(record) : 0,
    servedCount: isTracked ? sessions.turns(record) : 0,
    expectedMs,
  }));
}
