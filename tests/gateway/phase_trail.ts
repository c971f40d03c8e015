/**
 * The trails that requests leave in the log, as the fields of its events
 * `request.phase`, checked against the table of phases.
 *
 * Invariant: ids may be a client's, and so of several requests at once. Each
 * event takes one request of that id out of a phase it has been in, so that
 * one out of order is found for a single request, and one too many or too few
 * for any.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { LogFields } from "../../src/core/outside.ts";
import { type Phase, PHASES, SUCCESSORS } from "../../src/gateway/phase.ts";

const NEXT: Readonly<Record<Phase, readonly Phase[]>> = SUCCESSORS;

/** The phases that requests with an id have left, in order. */
export function trailOf(events: readonly LogFields[], id: string): string[] {
  return events
    .filter((fields) => fields.request_id === id)
    .map((fields) => String(fields.phase));
}

/** Fails unless every request has gone a legal way to its end. */
export function assertLegalTrails(events: readonly LogFields[]): void {
  /** The phases that requests are in, by id. */
  const open = new Map<string, string[]>();
  for (const { next, phase, request_id } of events) {
    const id = String(request_id);
    const step = `${id}: from ${phase} to ${next ?? "its end"}`;
    assertEquals(isLegal(phase, next), true, `illegal: ${step}`);
    const phases = open.get(id) ?? ["accept"];
    // A request starts with the event that says it has been accepted.
    if (phase === "accept" && !phases.includes("accept")) phases.push("accept");
    const place = phases.indexOf(String(phase));
    assertEquals(place >= 0, true, `out of order: ${step}`);
    phases.splice(place, 1, ...(next === undefined ? [] : [String(next)]));
    open.set(id, phases);
  }
  for (const [id, phases] of open) {
    assertEquals(phases, [], `request ${id} has not ended`);
  }
}

function isLegal(
  phase: LogFields[string],
  next: LogFields[string],
): boolean {
  const from = PHASES.find((known) => known === phase);
  if (from === undefined) return false;
  if (next === undefined) return from === "settle";
  return NEXT[from].some((known) => known === next);
}
