/**
 * Weighted shortest processing time: the call that is over soonest goes first.
 *
 * How long a call takes is what its client expects, else what calls of its
 * session took on average, else what all calls did. Levels go by half powers
 * of two, so that two steps of a client's priority are a weight of two (W. E.
 * Smith, 1956: the order by size over weight has the least weighted wait).
 *
 * Invariant: what is learned stays a plain duration, whatever was told: one
 * bad reading must not spoil the mean for good.
 *
 * @module
 */
import type {
  SchedulingFacts,
  SchedulingPolicy,
  SchedulingPolicyPlugin,
} from "../core/scheduling_policy.ts";
import { levelOf } from "./level.ts";

/**
 * Width of level 0 in milliseconds: some tokens. The last level then begins at
 * half an hour, beyond what a call takes.
 */
const SHORT_MS = 100;

/**
 * Guess in milliseconds until a first call has ended: a short answer. It holds
 * for all calls alike, so only clients' expectations are compared with it.
 */
const GUESS_MS = 1_000;

/**
 * Calls that the mean reaches back: enough to even out single long ones, few
 * enough to follow the load of a day.
 */
const MEMORY_COUNT = 1_000;

/** Registers the policy. */
export const wspt: SchedulingPolicyPlugin = {
  name: "wspt",
  summary: "calls first that are expected to take the shortest time",
  create(): SchedulingPolicy {
    let meanMs = GUESS_MS;
    let count = 0;
    return {
      level(facts) {
        const ratio = (declaredMs(facts) ?? usualMs(facts) ?? meanMs) /
          SHORT_MS;
        // Doublings of the square are half powers of two of the duration.
        return levelOf(ratio * ratio);
      },
      served(serviceMs) {
        if (!(serviceMs >= 0 && serviceMs < Infinity)) return;
        if (count < MEMORY_COUNT) count++;
        meanMs += (serviceMs - meanMs) / count;
      },
    };
  },
};

function declaredMs({ expectedMs }: SchedulingFacts): number | undefined {
  return expectedMs !== undefined && expectedMs >= 0 ? expectedMs : undefined;
}

/** Mean service of the session's calls; `undefined` before one has ended. */
function usualMs(facts: SchedulingFacts): number | undefined {
  const { attainedMs, servedCount } = facts;
  if (!(servedCount > 0)) return undefined;
  const usual = attainedMs / servedCount;
  return usual >= 0 ? usual : undefined;
}
