/**
 * The configured session-key sources, compiled.
 *
 * Invariant: every thread compiles the same plan, since a plan holds functions
 * and cannot be posted.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { KeyPlan } from "../core/scan/key_plan.ts";
import { parseSource } from "../session_keys/parse.ts";

/** Compiles the plan of a checked configuration. */
export function keyPlanOf(config: Config): KeyPlan {
  return new KeyPlan(config.session.keys.map(parseSource));
}
