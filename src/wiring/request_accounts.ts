/**
 * How a gateway tells of its requests: by records, and by spans where it
 * traces.
 *
 * Invariant: what nobody takes is not made.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { KeyPlan } from "../core/scan/key_plan.ts";
import type { Outside } from "../core/outside.ts";
import { AccessLog, type AccessSink } from "../gateway/access_log.ts";
import { type SpanSink, Tracer } from "../gateway/call_trace.ts";
import type { FailurePace } from "../gateway/failure_pace.ts";
import type { ForwardingRules } from "../gateway/forwarding.ts";
import type { GatewayParts } from "../gateway/gateway.ts";

/** What takes accounts, and what they are made with. */
export interface AccountParts {
  readonly outside: Outside;
  /** Takes a record of each request; nobody does if `undefined`. */
  readonly access?: AccessSink | undefined;
  /** Takes spans; nothing is traced if `undefined`. */
  readonly spans?: SpanSink | undefined;
}

/** What one configuration has told of requests. */
export function accountsOf(
  { access, outside: { log, random }, spans }: AccountParts,
  { config, forwarding, pace, plan }: {
    readonly config: Config;
    readonly forwarding: ForwardingRules;
    readonly pace: FailurePace;
    readonly plan: KeyPlan;
  },
): Pick<GatewayParts, "access" | "tracer"> {
  return {
    access: new AccessLog({
      log,
      pace,
      random,
      plan,
      forwarding,
      sink: access,
      ...config.log,
    }),
    tracer: spans && new Tracer({
      random,
      sample: config.tracing.sample,
      sink: spans,
    }),
  };
}
