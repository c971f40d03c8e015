/**
 * One call as its tenant's: what it takes of the limits of its tenant and of
 * its key, and gives back.
 *
 * Invariant: whatever it has taken is given back by `leave`, however often
 * that is called; a call that is refused has taken nothing.
 *
 * @module
 */
import type { TenantSettings } from "../config/tenants.ts";
import { type ErrorCode, GatewayError } from "../core/error.ts";
import type { KeyHash } from "../core/hash.ts";
import type { Header } from "../core/request.ts";
import type { TenantLimits } from "../core/tenants/tenant_limits.ts";
import type { TenantScope } from "../core/tenants/tenant_scope.ts";
import type { IssuedKey } from "../core/tenants/tenant_slots.ts";
import type {
  TenantOutcome,
  TenantTally,
} from "../core/tenants/tenant_tally.ts";
import type { BucketLimit, Taking } from "../core/tenants/token_bucket.ts";
import type { RelayEnd } from "./relay.ts";

/** A key, and all that follows from whose it is. */
export interface Caller extends IssuedKey {
  readonly settings: TenantSettings;
  readonly scope: TenantScope;
}

/** What a call holds of its tenant. */
export class Tenancy {
  readonly settings: TenantSettings;
  readonly #caller: Caller;
  readonly #limits: TenantLimits;
  readonly #tally: TenantTally;
  #isRunning = false;
  #isWaiting = false;
  /** What the bucket said that is the nearest to empty. */
  #taking: Taking | undefined;
  #rate: BucketLimit | undefined;

  constructor(caller: Caller, limits: TenantLimits, tally: TenantTally) {
    this.settings = caller.settings;
    this.#tally = tally;
    this.#caller = caller;
    this.#limits = limits;
  }

  /** Name of the tenant. */
  get tenant(): string {
    return this.#caller.tenant;
  }

  /** The session that a key names, among those of this tenant. */
  scope(key: KeyHash): KeyHash {
    return this.#caller.scope.of(key);
  }

  /**
   * Takes a place among the requests of the key and of the tenant, and a token
   * of each rate.
   *
   * @throws {GatewayError} `tenant_full`, `rate_limited`.
   */
  enter(nowMs: number): void {
    this.#takeRunning();
    try {
      this.#takeTokens(nowMs);
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  /**
   * Takes a place among the requests of the key and of the tenant that wait,
   * unless it has one.
   *
   * @throws {GatewayError} `tenant_queue_full`.
   */
  takeWaiting(): void {
    if (this.#isWaiting) return;
    const { settings, slot, tenantSlot } = this.#caller;
    const limits = this.#limits;
    if (!limits.take("waiting", slot, settings.key.queued ?? Infinity)) {
      throw new GatewayError("tenant_queue_full", { message: KEY_QUEUED });
    }
    if (!limits.take("waiting", tenantSlot, settings.queued ?? Infinity)) {
      limits.give("waiting", slot);
      throw new GatewayError("tenant_queue_full");
    }
    this.#isWaiting = true;
  }

  /** Gives back what `takeWaiting` took. */
  giveWaiting(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#limits.give("waiting", this.#caller.slot);
    this.#limits.give("waiting", this.#caller.tenantSlot);
  }

  /**
   * Counts how the call has ended, and gives back everything; once a call.
   *
   * @param status That the engine answered with; 0 for none.
   */
  settle(end: RelayEnd, status: number): void {
    this.#tally.count(this.#caller.tenantSlot, outcomeOf(end, status));
    this.leave();
  }

  /** Gives back everything. */
  leave(): void {
    this.giveWaiting();
    if (!this.#isRunning) return;
    this.#isRunning = false;
    this.#limits.give("running", this.#caller.slot);
    this.#limits.give("running", this.#caller.tenantSlot);
  }

  /** Adds what is left of the rate, as OpenAI's API names it, and as the IETF
   * does (draft-ietf-httpapi-ratelimit-headers-10). */
  addHeaders(headers: Header[]): void {
    const taking = this.#taking;
    const rate = this.#rate;
    if (taking === undefined || rate === undefined) return;
    const { burst, perSecond } = rate;
    const windowS = Math.ceil(burst / perSecond);
    const fullInS = Math.ceil(taking.fullInMs / 1_000);
    headers.push(
      ["x-ratelimit-limit-requests", String(burst)],
      ["x-ratelimit-remaining-requests", String(taking.remaining)],
      ["x-ratelimit-reset-requests", durationText(taking.fullInMs)],
      ["ratelimit-policy", `"requests";q=${burst};w=${windowS}`],
      ["ratelimit", `"requests";r=${taking.remaining};t=${fullInS}`],
    );
  }

  /** Whether `addHeaders` adds a field of this name. */
  answersFor(name: string): boolean {
    return this.#rate !== undefined &&
      /^(?:x-ratelimit-(?:limit|remaining|reset)-requests|ratelimit(?:-policy)?)$/
        .test(name);
  }

  #takeRunning(): void {
    const { settings, slot, tenantSlot } = this.#caller;
    const limits = this.#limits;
    if (!limits.take("running", slot, settings.key.concurrent ?? Infinity)) {
      throw new GatewayError("tenant_full", { message: KEY_FULL });
    }
    if (!limits.take("running", tenantSlot, settings.concurrent ?? Infinity)) {
      limits.give("running", slot);
      throw new GatewayError("tenant_full");
    }
    this.#isRunning = true;
  }

  #takeTokens(nowMs: number): void {
    const { settings, slot, tenantSlot } = this.#caller;
    const { key: { rate: keyRate }, rate } = settings;
    if (keyRate !== undefined) {
      this.#note(keyRate, this.#limits.takeToken(slot, keyRate, nowMs));
    }
    if (this.#taking?.isTaken === false) throw limited(this.#taking, KEY_FAST);
    if (rate === undefined) return;
    const taking = this.#limits.takeToken(tenantSlot, rate, nowMs);
    this.#note(rate, taking);
    if (taking.isTaken) return;
    if (keyRate !== undefined) this.#limits.giveToken(slot, keyRate);
    throw limited(taking);
  }

  #note(rate: BucketLimit, taking: Taking): void {
    const former = this.#taking;
    const isNearer = former === undefined || !taking.isTaken ||
      taking.remaining < former.remaining;
    if (!isNearer) return;
    this.#taking = taking;
    this.#rate = rate;
  }
}

/** What a tenant is told when it is at a limit of its own. */
const LIMITED: ReadonlySet<ErrorCode> = new Set([
  "rate_limited",
  "tenant_full",
  "tenant_queue_full",
]);

function outcomeOf(end: RelayEnd, status: number): TenantOutcome {
  if (end.kind === "complete") return classOf(status);
  if (end.kind === "client_gone") return "client_gone";
  const { code, row } = end.error;
  if (code === "client_gone") return code;
  return LIMITED.has(code) ? "limited" : classOf(row.status);
}

function classOf(status: number): TenantOutcome {
  if (status < 200) return "1xx";
  if (status < 300) return "2xx";
  if (status < 400) return "3xx";
  return status < 500 ? "4xx" : "5xx";
}

const KEY_FULL = "The API key has as many requests at once as its limit allows";

const KEY_QUEUED = "As many of the API key's requests wait as its limit allows";

const KEY_FAST = "Requests come faster than the API key's limit allows";

function limited({ waitMs }: Taking, message?: string): GatewayError {
  return new GatewayError("rate_limited", {
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)),
    ...(message === undefined ? {} : { message }),
  });
}

/** A duration as OpenAI's API writes it: `20ms`, `1.5s`, `6m0s`. */
function durationText(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1_000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = `${(whole - minutes * 60_000) / 1_000}s`;
  return minutes === 0 ? seconds : `${minutes}m${seconds}`;
}
