/**
 * What is allowed in a configuration, but seldom meant.
 *
 * Invariant: a warning never stops the gateway and never shows a credential.
 *
 * @module
 */
import { isLoopbackHost } from "./admin.ts";
import type { Config } from "./config.ts";

/**
 * Returns one sentence for each doubtful setting.
 *
 * @param isPerRequest Whether a session-key source, as text, names an id that
 * is new on every request: each request would be a session of its own.
 */
export function configWarnings(
  config: Config,
  isPerRequest: (source: string) => boolean,
): string[] {
  const warnings: string[] = [];
  if (config.endpoints.length === 0) {
    warnings.push("No endpoint is configured, every request will be refused");
  }
  for (const source of config.session.keys.filter(isPerRequest)) {
    warnings.push(
      `Session key "${source}" is an id of single requests, not of sessions`,
    );
  }
  if (!isLoopbackHost(config.admin.listen.hostname)) {
    warnings.push(
      `Admin address "${config.admin.listen.hostname}" can be reached by` +
        " other machines: the token goes there as it is, without TLS",
    );
  }
  for (const { id, basePath } of config.endpoints) {
    if (!/\/v1$/.test(basePath)) continue;
    warnings.push(
      `Endpoint "${id}" has the path "${basePath}", which is put before every` +
        ` target: "/v1/models" is sent as "${basePath}/v1/models"`,
    );
  }
  return warnings;
}
