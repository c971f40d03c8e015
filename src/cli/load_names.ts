/**
 * The registers as the configuration asks for them.
 *
 * Invariant: a session-key source or a policy of either kind that is
 * registered is known to the configuration without a further line.
 *
 * @module
 */
import * as policies from "../policies/mod.ts";
import * as scheduling from "../scheduling/mod.ts";
import { DEFAULT_SESSION_KEYS } from "../session_keys/defaults.ts";
import { isPerRequestId, parseSource } from "../session_keys/parse.ts";
import type { LoadNames } from "./load_config.ts";

/** Names for `loadConfig()`. */
export const LOAD_NAMES: LoadNames = {
  parseSource,
  defaultSources: DEFAULT_SESSION_KEYS,
  policyNames: Object.values(policies).map((policy) => policy.name).sort(),
  schedulingNames: Object.values(scheduling).map(({ name }) => name).sort(),
  isPerRequest: isPerRequestId,
};
