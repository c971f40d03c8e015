/**
 * What a configuration makes of the parts of a thread that outlive it: the
 * queue, the admission of calls and the choice of endpoints.
 *
 * They ask for their settings each time anew, so that calls which wait when
 * the configuration changes keep their turn and go on under the new one.
 *
 * Invariant: what a policy has learned, and what is left of the budget for
 * further attempts, is lost only when that very setting changes.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { Register } from "../core/plugin.ts";
import { RetryBudget } from "../core/placement/retry_budget.ts";
import type { RoutingPolicy } from "../core/routing_policy.ts";
import type { SchedulingPolicy } from "../core/scheduling_policy.ts";
import type { QueueSettings } from "../gateway/admission.ts";
import * as policies from "../policies/mod.ts";
import * as schedulingPolicies from "../scheduling/mod.ts";

/** The settings of one thread. */
export class ThreadSettings {
  readonly #random: () => number;
  readonly #policies = new Register("routing policy", policies);
  readonly #schedulings = new Register("scheduling policy", schedulingPolicies);
  #config: Config;
  #policy: RoutingPolicy;
  #fallback: RoutingPolicy;
  #scheduling: SchedulingPolicy;
  #queue: QueueSettings;
  #retries: RetryBudget;

  constructor(config: Config, random: () => number) {
    this.#random = random;
    this.#config = config;
    this.#policy = this.#newPolicy(config.routing.policy);
    this.#fallback = this.#newPolicy(config.session.fallback);
    this.#scheduling = this.#schedulings.get(config.queue.policy).create();
    this.#queue = queueSettingsOf(config);
    this.#retries = new RetryBudget(config.attempts.budget);
  }

  get policy(): RoutingPolicy {
    return this.#policy;
  }

  get fallback(): RoutingPolicy {
    return this.#fallback;
  }

  get imbalance(): number {
    return this.#config.routing.imbalance;
  }

  get scheduling(): SchedulingPolicy {
    return this.#scheduling;
  }

  get queue(): QueueSettings {
    return this.#queue;
  }

  /** Most calls that wait for one pool, over all threads. */
  get callsMax(): number {
    return this.#config.queue.max;
  }

  get retries(): RetryBudget {
    return this.#retries;
  }

  /** Takes a new configuration, between two requests. */
  change(config: Config): void {
    const { attempts, queue, routing, session } = this.#config;
    if (config.routing.policy !== routing.policy) {
      this.#policy = this.#newPolicy(config.routing.policy);
    }
    if (config.session.fallback !== session.fallback) {
      this.#fallback = this.#newPolicy(config.session.fallback);
    }
    if (config.queue.policy !== queue.policy) {
      this.#scheduling = this.#schedulings.get(config.queue.policy).create();
    }
    if (config.attempts.budget !== attempts.budget) {
      this.#retries = new RetryBudget(config.attempts.budget);
    }
    this.#queue = queueSettingsOf(config);
    this.#config = config;
  }

  #newPolicy(name: string): RoutingPolicy {
    return this.#policies.get(name).create({ random: this.#random });
  }
}

/** The configuration says `none` where the queue wants a number. */
function queueSettingsOf({ queue, routing, timeouts }: Config): QueueSettings {
  return {
    isOn: queue.max > 0,
    sessionMax: queue.sessionMax,
    boostRatio: queue.boostRatio,
    overdueMs: queue.overdueMs ?? Infinity,
    timeoutMs: timeouts.queueMs ?? Infinity,
    patienceMs: routing.affinityPatienceMs,
    priorityMin: queue.priorityMin,
    priorityMax: queue.priorityMax,
  };
}
