/**
 * How a gateway's queue waits when nothing is configured.
 *
 * Invariant: these are the defaults of the configuration itself.
 *
 * @module
 */
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import { type Config } from "../../src/config/config.ts";
import { complaintsText, parseConfig } from "../../src/config/parse.ts";
import { queueSettingsOf } from "../../src/simulate/settings.ts";
import type { QueueSettings } from "../../src/simulate/virtual_gateway.ts";

/**
 * The settings for engines that get so many calls at once; `undefined` has
 * their limits learned.
 */
export function queueDefaults(inFlightMax?: number): QueueSettings {
  return queueSettingsOf(configOf({}), inFlightMax);
}

/** @throws {TypeError} with what is wrong with the document. */
export function configOf(document: unknown): Config {
  const result = parseConfig(document, { names: LOAD_NAMES });
  if (result.kind === "accepted") return result.config;
  throw new TypeError(complaintsText(result.complaints));
}
