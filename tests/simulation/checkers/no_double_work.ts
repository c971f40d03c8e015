/**
 * No request is processed twice.
 *
 * An engine that has read the head of a request may be working on it, so a
 * request that must not be repeated (RFC 9110, 9.2.2) is seen by one engine,
 * once. What an engine sees is a request, with the body that the client sent.
 *
 * Invariant: a request counts from its head on, whether or not its body came.
 *
 * @module
 */
import { eventsOf, type SimulationEvent } from "../events.ts";

/**
 * Most times a request that may be repeated is seen: two attempts, each of
 * which may meet a connection that is just being closed.
 */
const REPEATS_MAX = 4;

/** Finds requests that engines saw too often, or not as they were sent. */
export function noDoubleWork(events: readonly SimulationEvent[]): string[] {
  const problems: string[] = [];
  const hashes = new Map<string, number>();
  for (const { request, bodyHash } of eventsOf(events, "begin")) {
    hashes.set(request, bodyHash);
  }
  const counts = new Map<string, number>();
  for (const { request, method } of eventsOf(events, "engine_begin")) {
    const count = (counts.get(request) ?? 0) + 1;
    counts.set(request, count);
    const max = method === "GET" ? REPEATS_MAX : 1;
    if (count === max + 1) {
      problems.push(`${method} ${request} was processed ${count} times`);
    }
    if (!hashes.has(request)) problems.push(`${request} was never sent`);
  }
  for (const { request, bodyHash } of eventsOf(events, "engine_read")) {
    if (hashes.get(request) !== bodyHash) {
      problems.push(`${request} reached its engine with another body`);
    }
  }
  for (const { endpoint, reason } of eventsOf(events, "engine_refused")) {
    problems.push(`${endpoint}: ${reason}`);
  }
  return problems;
}
