/**
 * What is compared: ways to decide which endpoint takes a call, and which call
 * goes next.
 *
 * The first two stand for a plain load balancer: calls go to an engine at once
 * and wait in its own queue, first come first served. All others wait in the
 * gateway, which lets as many through as the engine's batch takes.
 *
 * The oracle knows how much work a program has left, which nobody can know. It
 * is the shortest remaining program first, without preemption, through the
 * same queue and with the same affinity.
 *
 * Invariant: contenders differ in nothing but what their row says.
 *
 * @module
 */
import { Register } from "../core/plugin.ts";
import type { SchedulingPolicyPlugin } from "../core/scheduling_policy.ts";
import * as scheduling from "../scheduling/mod.ts";

/** One way to serve. */
export interface Contender {
  readonly name: string;
  /** One line for help. */
  readonly summary: string;
  /** Whether sessions are known, and meet the endpoint of their binding. */
  readonly hasAffinity: boolean;
  /** Where calls wait. */
  readonly waitsIn: "engine" | "gateway";
  /** Who goes first in the gateway's queue. */
  readonly policy: SchedulingPolicyPlugin;
  /** Whether waiting calls are promoted: all but the oracle's. */
  readonly hasPromotion: boolean;
}

/** Remaining work below which programs are alike, in milliseconds. */
const ORACLE_QUANTUM_MS = 250;

/** Levels for each doubling of remaining work: the last begins at 1.6 h. */
const ORACLE_LEVELS_PER_DOUBLING = 2;

const policies = new Register("scheduling policy", scheduling);

const oracle: SchedulingPolicyPlugin = {
  name: "oracle",
  summary: "programs first that have the least work left",
  create: () => ({
    level({ expectedMs = 0 }) {
      const ratio = Math.max(1, expectedMs / ORACLE_QUANTUM_MS);
      return ORACLE_LEVELS_PER_DOUBLING * Math.log2(ratio);
    },
  }),
};

/** All contenders, in the order of the table. */
export const CONTENDERS: readonly Contender[] = [
  {
    name: "round_robin",
    summary: "plain balancer: engines in turn, calls wait in the engines",
    hasAffinity: false,
    waitsIn: "engine",
    policy: policies.get("fcfs"),
    hasPromotion: true,
  },
  {
    name: "sticky",
    summary: "plain balancer: sessions stick, calls wait in the engines",
    hasAffinity: true,
    waitsIn: "engine",
    policy: policies.get("fcfs"),
    hasPromotion: true,
  },
  {
    name: "queued_round_robin",
    summary: "the gateway's queue, first come first served, engines in turn",
    hasAffinity: false,
    waitsIn: "gateway",
    policy: policies.get("fcfs"),
    hasPromotion: true,
  },
  ...policies.all().toSorted(byFame).map((policy) => ({
    name: policy.name,
    summary: `the gateway with affinity: ${policy.summary}`,
    hasAffinity: true,
    waitsIn: "gateway" as const,
    policy,
    hasPromotion: true,
  })),
  {
    name: oracle.name,
    summary: `the gateway with affinity: ${oracle.summary}`,
    hasAffinity: true,
    waitsIn: "gateway",
    policy: oracle,
    hasPromotion: false,
  },
];

/** The contender of a name; throws a `TypeError` that lists the known ones. */
export function contenderOf(name: string): Contender {
  const contender = CONTENDERS.find((contender) => contender.name === name);
  if (contender !== undefined) return contender;
  const known = CONTENDERS.map(({ name }) => name).join(", ");
  throw new TypeError(`Cannot find contender "${name}": known are ${known}`);
}

/** First come first served is what the others are compared with. */
function byFame(
  one: SchedulingPolicyPlugin,
  other: SchedulingPolicyPlugin,
): number {
  return Number(other.name === "fcfs") - Number(one.name === "fcfs");
}
