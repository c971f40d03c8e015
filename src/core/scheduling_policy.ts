/**
 * The interface of a scheduling policy: which level a waiting call is put on.
 *
 * Invariant: a policy only says how urgent a call is when it arrives. The
 * order inside a level (first come first served), anti-starvation, affinity
 * and limits are decided by the queue, once for all policies.
 *
 * @module
 */
import type { Named } from "./plugin.ts";

/**
 * Levels that a policy can tell apart, 0 being the most urgent. Few enough
 * that calls of like size share one and are served first come first served:
 * an order by the exact value degenerates to taking turns (Autellix, 4.2).
 */
export const LEVEL_COUNT = 30;

/** A policy's answer as a level: whole, and from 0 to the last. */
export function toLevel(value: number): number {
  // What is no number at all is as urgent as what is unknown: the top.
  return Math.trunc(Math.min(Math.max(value, 0), LEVEL_COUNT - 1)) || 0;
}

/** What is known of a call when it arrives; times in milliseconds. */
export interface SchedulingFacts {
  /** Service on the longest path of calls that led to this one; 0 at first. */
  readonly criticalPathMs: number;
  /** Service of all calls of the session that have ended. */
  readonly attainedMs: number;
  /** Calls of the session that have been served. */
  readonly servedCount: number;
  /** How long the client expects this call to take, if it says so. */
  readonly expectedMs: number | undefined;
}

/** Puts calls on levels; one for each worker thread. */
export interface SchedulingPolicy {
  /**
   * The level of a call, from 0 to `LEVEL_COUNT - 1`; fractions are cut off
   * and values outside are moved to the nearest end by the caller.
   */
  level(facts: SchedulingFacts): number;
  /** Hears how long a call was served, for policies that learn from it. */
  served?(serviceMs: number): void;
}

/** What the author of a scheduling policy writes. */
export interface SchedulingPolicyPlugin extends Named {
  /** Builds a policy with its own state, for one worker thread. */
  create(): SchedulingPolicy;
}
