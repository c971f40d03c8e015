/**
 * Who a client is, by the API key that it presents.
 *
 * A key comes as a bearer token (RFC 6750, 2.1), as OpenAI's clients send it,
 * or in `x-api-key`, as Anthropic's do; the former is heeded if there are
 * both. Both fields belong to the gateway then, and neither reaches an engine
 * (`headers.ts`), whichever of them it was.
 *
 * Invariant: what a client is told of a key that is not accepted does not
 * depend on why, and nothing of a key is kept, logged or answered.
 *
 * @module
 */
import type { TenantsSettings } from "../config/tenants.ts";
import { ApiKeyTable } from "../core/tenants/api_keys.ts";
import { GatewayError } from "../core/error.ts";
import type { HeaderList } from "../core/request.ts";
import type { TenantLimits } from "../core/tenants/tenant_limits.ts";
import { TenantScope } from "../core/tenants/tenant_scope.ts";
import type { IssuedKey } from "../core/tenants/tenant_slots.ts";
import type { TenantTally } from "../core/tenants/tenant_tally.ts";
import type { Call } from "./call.ts";
import { type Caller, Tenancy } from "./tenancy.ts";

/** The scheme, which is case-insensitive, and its blank (RFC 9110, 11.1). */
const BEARER = "bearer ";

/** What authentication is made of. */
export interface AuthenticationParts {
  readonly keys: readonly IssuedKey[];
  readonly tenants: TenantsSettings;
  readonly limits: TenantLimits;
  readonly tally: TenantTally;
}

/** Knows the clients of one configuration. */
export class Authentication {
  readonly #callers: ApiKeyTable<Caller>;
  readonly #limits: TenantLimits;
  readonly #tally: TenantTally;

  constructor({ keys, limits, tally, tenants }: AuthenticationParts) {
    this.#limits = limits;
    this.#tally = tally;
    const listed = new Map(
      tenants.listed.map(({ name, settings }) => [name, settings]),
    );
    const scopes = new Map<string, TenantScope>();
    this.#callers = new ApiKeyTable(keys.map((key): Caller => {
      const { tenant } = key;
      const scope = scopes.get(tenant) ?? new TenantScope(tenant);
      scopes.set(tenant, scope);
      const settings = listed.get(tenant) ?? tenants.others;
      return { ...key, settings, scope };
    }));
  }

  /**
   * Finds out whose call this is, and takes its place among the others of its
   * tenant and key.
   *
   * @throws {GatewayError} `api_key_missing`, `api_key_invalid`,
   * `tenant_full`, `rate_limited`.
   */
  admit(
    call: Pick<Call<"accept">, "request" | "sinceMs" | "tenancy">,
  ): void {
    const presented = presentedKey(call.request.head.headers);
    if (presented === "") throw new GatewayError("api_key_missing");
    const caller = this.#callers.find(presented, call.sinceMs);
    if (caller === undefined) throw new GatewayError("api_key_invalid");
    // First, since a refusal says what is left, too.
    call.tenancy = new Tenancy(caller, this.#limits, this.#tally);
    call.tenancy.enter(call.sinceMs);
  }
}

/** The key that a request presents; empty for none. */
function presentedKey(headers: HeaderList): string {
  let apiKey = "";
  for (const [name, value] of headers) {
    if (name === "authorization") {
      const scheme = value.slice(0, BEARER.length).toLowerCase();
      if (scheme === BEARER) return value.slice(BEARER.length).trim();
    } else if (name === "x-api-key" && apiKey === "") apiKey = value.trim();
  }
  return apiKey;
}
