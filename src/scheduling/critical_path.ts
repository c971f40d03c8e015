/**
 * Critical path: the call with the least service on the way to it goes first.
 *
 * The longest chain of calls bounds when an agent run can end; calls beside
 * the chain do not count, so a session may fan out without falling behind. Of
 * a session that runs one call at a time it is the attained service (ATLAS in
 * Autellix, arXiv 2502.13965, 4.2).
 *
 * Invariant: what counts is the path as inherited at arrival; calls that run
 * at the same time never see each other's service.
 *
 * @module
 */
import type {
  SchedulingPolicy,
  SchedulingPolicyPlugin,
} from "../core/scheduling_policy.ts";
import { levelOf, QUANTUM_MS } from "./level.ts";

/** Registers the policy. */
export const criticalPath: SchedulingPolicyPlugin = {
  name: "critical_path",
  summary: "calls first whose longest chain of earlier calls took least",
  create(): SchedulingPolicy {
    return {
      level: ({ criticalPathMs }) => levelOf(criticalPathMs / QUANTUM_MS),
    };
  },
};
