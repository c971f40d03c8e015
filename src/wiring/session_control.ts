/**
 * The sessions as the admin API sees and changes them, over the shared table.
 *
 * A key is kept once in each pool that its requests have gone to. Without a
 * model nobody can tell which is meant, so then all are looked at. Where
 * clients need an API key each tenant has sessions of its own, so that a key
 * without its tenant names none.
 *
 * Invariant: a hold that is taken here is given back in the same turn, so that
 * nothing has to be taken back if this thread ends.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Problem } from "../admin/problem.ts";
import type {
  FoundSession,
  SessionControl,
  SessionList,
  SessionListQuery,
  SessionQuery,
  SessionReport,
} from "../admin/session_api.ts";
import { FAILURES, slotOfBinding } from "../core/sessions/binding.ts";
import { type KeyHash, shortHash } from "../core/hash.ts";
import type { Clock } from "../core/outside.ts";
import { type Pool, Pools } from "../core/placement/pool.ts";
import { hashKey } from "../core/session_key.ts";
import type { SessionView } from "../core/sessions/session_sweep.ts";
import { TenantScope } from "../core/tenants/tenant_scope.ts";
import type { Control } from "./control.ts";

/**
 * Records of one turn: about 4 ms of the main thread, which carries no
 * traffic. Shorter turns would make the whole walk take longer.
 */
const STEP_RECORDS = 32_768;

/** Walks over the table at once; each takes turns of the main thread. */
const WALKS_MAX = 4;

/** Seconds after which one more may be asked for; a walk takes less. */
const RETRY_AFTER_S = 2;

/** Looks at sessions and changes them. */
export class SessionDesk implements SessionControl {
  readonly #control: Control;
  readonly #clock: Clock;
  #walks = 0;

  constructor(control: Control, clock: Clock) {
    this.#control = control;
    this.#clock = clock;
  }

  find(query: SessionQuery): FoundSession {
    const hash = this.#hashOf(query);
    const pools = this.#poolsOf(query).flatMap((pool) => {
      const report = this.#reportOf(pool.scope(hash));
      return report === undefined ? [] : [{ pool: pool.name, ...report }];
    });
    return { session: shortHash(hash), pools };
  }

  pin(query: SessionQuery, endpoint: string): FoundSession {
    const hash = this.#hashOf(query);
    const pools = this.#poolsOf(query)
      .filter(({ ids }) => ids.includes(endpoint));
    if (pools.length === 0) {
      throw new Problem(
        STATUS_CODE.NotFound,
        `Cannot pin session ${shortHash(hash)} to endpoint "${endpoint}": ` +
          this.#knownEndpoints(query),
      );
    }
    for (const pool of pools) {
      this.#bind(pool.scope(hash), pool.bindingOf(pool.ids.indexOf(endpoint)));
    }
    return this.find(query);
  }

  forget(query: SessionQuery): number {
    const hash = this.#hashOf(query);
    const { sessions } = this.#control.state;
    return this.#poolsOf(query)
      .filter((pool) => sessions.endKey(pool.scope(hash))).length;
  }

  async list(query: SessionListQuery): Promise<SessionList> {
    const { directory } = this.#control;
    const { endpoint } = query;
    const wanted = endpoint === undefined ? 0 : directory.bindingOf(endpoint);
    if (endpoint !== undefined && wanted === 0) {
      throw new Problem(
        STATUS_CODE.NotFound,
        `Cannot find endpoint "${endpoint}": ${this.#knownEndpoints()}`,
      );
    }
    if (this.#walks >= WALKS_MAX) {
      throw new Problem(
        STATUS_CODE.ServiceUnavailable,
        `Cannot look at the sessions more than ${WALKS_MAX} times at once`,
        { "retry-after": String(RETRY_AFTER_S) },
      );
    }
    this.#walks++;
    try {
      return await this.#walk(wanted, query.limit);
    } finally {
      this.#walks--;
    }
  }

  /** Walks over the whole table, a stretch a turn. */
  async #walk(wanted: number, limit: number): Promise<SessionList> {
    const { sessions } = this.#control.state;
    const latest = new Latest(limit);
    let total = 0;
    let from = 0;
    do {
      const nowMs = this.#clock.nowMs();
      const range = { from, count: STEP_RECORDS, nowMs };
      const { next } = sessions.sweep(range, (view) => {
        if (wanted !== 0 && !isBoundBy(view, wanted)) return;
        total++;
        if (latest.wants(view)) latest.add(view, this.#shown(view));
      });
      from = next;
      await new Promise<void>((resolve) => this.#clock.after(0, resolve));
    } while (from !== 0);
    return { total, sessions: latest.list() };
  }

  /**
   * The hash under which requests of the tenant know the session.
   *
   * @throws {Problem} for a blank key, and when the tenant is not one whose
   * requests can have this session.
   */
  #hashOf({ key, tenant }: SessionQuery): KeyHash {
    const hash = hashKey(key);
    if (hash === undefined) {
      throw new Problem(
        STATUS_CODE.BadRequest,
        "Cannot use a blank session key",
      );
    }
    const { names } = this.#control.keys;
    const complaint = tenantComplaint(tenant, names);
    if (complaint !== undefined) throw complaint;
    return tenant === undefined ? hash : new TenantScope(tenant).of(hash);
  }

  #bind(key: KeyHash, word: number): void {
    const { sessions } = this.#control.state;
    const nowMs = this.#clock.nowMs();
    const record = sessions.pin(key, nowMs);
    if (record < 0) {
      throw new Problem(
        STATUS_CODE.ServiceUnavailable,
        "Cannot keep the session: all places that it could have are in use",
        { "retry-after": String(RETRY_AFTER_S) },
      );
    }
    try {
      // Bounded by progress: it fails when a call of the session was faster.
      while (!sessions.confirm(record, sessions.binding(record), word));
    } finally {
      sessions.unpin(record, nowMs);
    }
  }

  /** A stretch of one record shows it as a walk does. */
  #reportOf(key: KeyHash): SessionReport | undefined {
    const { sessions } = this.#control.state;
    const record = sessions.find(key);
    if (record < 0) return undefined;
    const range = { from: record, count: 1, nowMs: this.#clock.nowMs() };
    let report: SessionReport | undefined;
    sessions.sweep(range, (view) => report = this.#shown(view));
    return report;
  }

  #shown(view: SessionView): SessionReport {
    return {
      record: shortHash(view),
      endpoint: this.#endpointOf(view),
      lastUseAgeMs: Math.round(view.lastUseAgeMs),
      turns: view.turns,
      inFlight: Math.max(0, view.pins),
      attainedMs: view.attainedMs,
      criticalPathMs: view.criticalPathMs,
      waitedMs: view.waitedMs,
    };
  }

  /** `undefined` too when the slot has been given to another since. */
  #endpointOf(view: SessionView): string | undefined {
    if (view.bound === 0) return undefined;
    const { directory } = this.#control;
    const spec = directory.routes.endpoints.get(slotOfBinding(view.bound));
    const isSame = spec !== undefined &&
      isBoundBy(view, directory.bindingOf(spec.id));
    return isSame ? spec.id : undefined;
  }

  /** @throws {Problem} when nobody serves the model. */
  #poolsOf({ model }: SessionQuery): readonly Pool[] {
    const { directory, state } = this.#control;
    const pools = new Pools(directory.routes.plan, state.endpoints);
    if (model === undefined) return pools.all;
    const pool = pools.poolFor(model);
    if (pool !== undefined) return [pool];
    throw new Problem(
      STATUS_CODE.NotFound,
      `Cannot find the pool of model "${model}": nobody serves it`,
    );
  }

  #knownEndpoints(query?: SessionQuery): string {
    const ids = query === undefined
      ? this.#control.directory.endpoints.map(({ id }) => id)
      : [...new Set(this.#poolsOf(query).flatMap((pool) => pool.ids))];
    return ids.length === 0
      ? "none is known"
      : `known are ${ids.map((id) => `"${id}"`).join(", ")}`;
  }
}

/** What is wrong with a tenant, given those with keys if there are any. */
function tenantComplaint(
  tenant: string | undefined,
  names: ReadonlySet<string> | undefined,
): Problem | undefined {
  if (names === undefined) {
    if (tenant === undefined) return undefined;
    return new Problem(
      STATUS_CODE.BadRequest,
      'Cannot use "tenant": clients need no API key, and share all sessions',
    );
  }
  if (tenant === undefined) {
    return new Problem(
      STATUS_CODE.BadRequest,
      "Cannot tell whose session is meant, as clients need an API key: name" +
        ' the tenant, in "tenant" or with --tenant',
    );
  }
  if (names.has(tenant)) return undefined;
  return new Problem(
    STATUS_CODE.NotFound,
    `Cannot find tenant "${tenant}": it has no API key`,
  );
}

/** A binding may have failures in it, which are no other endpoint. */
function isBoundBy({ bound }: SessionView, word: number): boolean {
  return (bound & ~FAILURES.mask) === word;
}

/**
 * The sessions last used, of all that are shown to it: up to twice as many as
 * wanted are kept, and then the older half goes.
 */
class Latest {
  readonly #limit: number;
  #kept: { readonly lastUseMs: number; readonly report: SessionReport }[] = [];
  /** Whoever was not used after this is not among them. */
  #oldestMs = -Infinity;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether it could be among them: reports are made for those alone. */
  wants({ lastUseMs }: SessionView): boolean {
    return lastUseMs > this.#oldestMs;
  }

  add({ lastUseMs }: SessionView, report: SessionReport): void {
    this.#kept.push({ lastUseMs, report });
    if (this.#kept.length < 2 * this.#limit) return;
    this.#sort();
    this.#oldestMs = this.#kept.at(-1)?.lastUseMs ?? -Infinity;
  }

  /** The last used first. */
  list(): SessionReport[] {
    this.#sort();
    return this.#kept.map(({ report }) => report);
  }

  #sort(): void {
    this.#kept.sort((one, other) => other.lastUseMs - one.lastUseMs);
    this.#kept.length = Math.min(this.#kept.length, this.#limit);
  }
}
