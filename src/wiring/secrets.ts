/**
 * What a gateway knows that nobody else may: the API keys of its clients, as
 * digests, and the credentials that its endpoints want.
 *
 * They come beside the configuration, never in it, so that whatever shows or
 * compares a configuration has none to show.
 *
 * Invariant: nothing here is logged, counted or answered with. A gateway whose
 * configuration asks for API keys does not start, nor go on, without any.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { ConfigChange } from "../config/diff.ts";
import type { ApiKey } from "../core/api_key.ts";
import type { Header } from "../core/request.ts";
import { TenantLimits } from "../core/tenants/tenant_limits.ts";
import { type IssuedKey, TenantSlots } from "../core/tenants/tenant_slots.ts";
import { TenantTally } from "../core/tenants/tenant_tally.ts";
import { Authentication } from "../gateway/authentication.ts";
import type { SharedBuffers } from "./shared_state.ts";
import { TenantBook } from "./tenant_book.ts";

/** Secrets of a gateway; can be posted to threads. */
export interface Secrets<Key extends ApiKey = IssuedKey> {
  /** `undefined` asks clients for none; an empty list lets nobody in. */
  readonly keys: readonly Key[] | undefined;
  /** The header that an endpoint wants to be sent, by the endpoint's id. */
  readonly credentials: ReadonlyMap<string, Header>;
}

/** The memory that tenants are kept in. */
export type TenantMemory = Pick<SharedBuffers, "tenants" | "tenantTally">;

/** Gives the keys of one gateway the slots of their limits; one a process. */
export class KeyIssuer {
  readonly #slots: TenantSlots;
  readonly #book: TenantBook;
  #names: ReadonlySet<string> | undefined;

  constructor({ tenantTally, tenants }: TenantMemory) {
    const limits = new TenantLimits(tenants, 0);
    this.#slots = new TenantSlots(limits);
    this.#book = new TenantBook({
      limits,
      tally: new TenantTally(tenantTally, 0),
    });
  }

  /**
   * Makes secrets as they are read into those that threads can use. What
   * tenants and keys that stay have used of their limits stays with them.
   *
   * @throws {RangeError} when there are too many; then nothing has changed.
   */
  issue({ credentials, keys }: Secrets<ApiKey>): Secrets {
    const issued = keys && this.#slots.assign(keys);
    this.#book.replace(issued ?? []);
    this.#names = issued && new Set(issued.map(({ tenant }) => tenant));
    return { credentials, keys: issued };
  }

  /** The tenants that have keys; `undefined` where clients need none. */
  get names(): ReadonlySet<string> | undefined {
    return this.#names;
  }

  /** What can be seen of the tenants now. */
  tenants(): ReturnType<TenantBook["readings"]> {
    return this.#book.readings();
  }
}

/** What a gateway without any secret has. */
const NONE: Secrets<ApiKey> = { keys: undefined, credentials: new Map() };

/** What differs, by where it is kept; no secret is shown. */
export function diffSecrets(
  from: Secrets<ApiKey> = NONE,
  to: Secrets<ApiKey> = NONE,
): ConfigChange[] {
  const changes: ConfigChange[] = [];
  if (JSON.stringify(from.keys) !== JSON.stringify(to.keys)) {
    changes.push({
      path: "auth.keys_file (content)",
      from: `${from.keys?.length ?? 0} keys`,
      to: `${to.keys?.length ?? 0} keys`,
      needsRestart: false,
    });
  }
  const ids = new Set([...from.credentials.keys(), ...to.credentials.keys()]);
  for (const id of ids) {
    const [before, after] = [from, to].map((one) => one.credentials.get(id));
    if (before?.join() === after?.join()) continue;
    changes.push({
      path: `endpoints[${id}].credential_file (content)`,
      from: before === undefined ? "none" : "***",
      to: after === undefined ? "none" : "***",
      needsRestart: false,
    });
  }
  return changes;
}

/**
 * The authentication of one thread; `undefined` where clients need no key.
 *
 * @throws {TypeError} when the configuration asks for keys and there are none.
 */
export function authenticationOf(
  secrets: Secrets | undefined,
  { auth, tenants }: Pick<Config, "auth" | "tenants">,
  { buffers, index }: {
    readonly buffers: TenantMemory;
    readonly index: number;
  },
): Authentication | undefined {
  const keys = secrets?.keys;
  if (keys !== undefined) {
    return new Authentication({
      keys,
      tenants,
      limits: new TenantLimits(buffers.tenants, index),
      tally: new TenantTally(buffers.tenantTally, index),
    });
  }
  if (auth.keysFile === undefined) return undefined;
  throw new TypeError(
    `Cannot ask clients for API keys as none of "${auth.keysFile}" are known`,
  );
}
