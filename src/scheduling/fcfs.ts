/**
 * First come, first served: all calls are on one level.
 *
 * Invariant: nothing of a call's session counts, so the queue's own order is
 * all there is.
 *
 * @module
 */
import type {
  SchedulingPolicy,
  SchedulingPolicyPlugin,
} from "../core/scheduling_policy.ts";

/** Registers the policy. */
export const fcfs: SchedulingPolicyPlugin = {
  name: "fcfs",
  summary: "calls in the order of their arrival, whatever their session",
  create(): SchedulingPolicy {
    return { level: () => 0 };
  },
};
