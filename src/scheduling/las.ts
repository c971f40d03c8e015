/**
 * Least attained service: the session that has been served least goes first.
 *
 * Of a session that runs one call at a time this is the critical path too. One
 * that fans out pays for all its calls here, and so falls behind sooner (PLAS
 * in Autellix, arXiv 2502.13965, 4.2).
 *
 * Invariant: a call starts on its session's level, not on the first one, so
 * that cutting work into many calls gains nothing.
 *
 * @module
 */
import type {
  SchedulingPolicy,
  SchedulingPolicyPlugin,
} from "../core/scheduling_policy.ts";
import { levelOf, QUANTUM_MS } from "./level.ts";

/** Registers the policy. */
export const las: SchedulingPolicyPlugin = {
  name: "las",
  summary: "sessions first whose calls have been served least in total",
  create(): SchedulingPolicy {
    return { level: ({ attainedMs }) => levelOf(attainedMs / QUANTUM_MS) };
  },
};
