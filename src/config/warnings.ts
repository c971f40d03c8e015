/**
 * What is allowed in a configuration, but seldom meant.
 *
 * Invariant: a warning never stops the gateway and never shows a credential.
 *
 * @module
 */
import { isLoopbackHost } from "./admin.ts";
import type { Config } from "./config.ts";
import type { TenantSettings } from "./tenants.ts";

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
  const { auth, tenants } = config;
  const hasLimits = tenants.listed.length > 0 || isAnySet(tenants.others);
  if (hasLimits && auth.keysFile === undefined) {
    warnings.push(
      'Limits of "tenants" hold for nobody, as there is no "auth.keys_file"',
    );
  }
  for (const { address, id } of config.endpoints) {
    if (address.kind !== "tcp" || !address.trust?.insecure) continue;
    warnings.push(
      `Endpoint "${id}" is insecure: its certificate is not verified, whoever` +
        " is on the way can read and answer",
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

function isAnySet({ key, ...own }: TenantSettings): boolean {
  return [...Object.values(own), ...Object.values(key)]
    .some((value) => value !== undefined);
}
