/**
 * What a call takes of its tenant is given back whichever way it ends, and
 * what is left is told as clients know it.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { TenantSettings } from "../config/tenants.ts";
import { type ErrorCode, GatewayError } from "../core/error.ts";
import type { Header } from "../core/request.ts";
import { TenantLimits } from "../core/tenants/tenant_limits.ts";
import { TenantScope } from "../core/tenants/tenant_scope.ts";
import {
  TENANT_OUTCOMES,
  type TenantOutcome,
  TenantTally,
} from "../core/tenants/tenant_tally.ts";
import type { RelayEnd } from "./relay.ts";
import { Tenancy } from "./tenancy.ts";

const NOW_MS = 1_796_000_000_000;

const NONE: TenantSettings = {
  rate: undefined,
  concurrent: undefined,
  queued: undefined,
  bodyBytes: undefined,
  priorityMax: undefined,
  models: undefined,
  key: {
    rate: undefined,
    concurrent: undefined,
    queued: undefined,
    bodyBytes: undefined,
  },
};

/** Makes calls of one key, whose limits are in the slots 1 and 2. */
function tenant(settings: Partial<TenantSettings>): {
  readonly call: () => Tenancy;
  readonly limits: TenantLimits;
  readonly tally: TenantTally;
} {
  const tally = new TenantTally(TenantTally.create(1), 0);
  const limits = new TenantLimits(TenantLimits.create(1, NOW_MS), 0);
  const caller = {
    tenant: "red",
    digest: "",
    expiresAtMs: undefined,
    slot: 1,
    tenantSlot: 2,
    settings: { ...NONE, ...settings },
    scope: new TenantScope("red"),
  };
  return { call: () => new Tenancy(caller, limits, tally), limits, tally };
}

function codeOf(step: () => void): string {
  return assertThrows(step, GatewayError).code;
}

test("Tenancy.enter() takes nothing where it refuses", () => {
  const { call, limits } = tenant({
    rate: { perSecond: 1, burst: 1 },
    concurrent: 1,
    key: {
      rate: { perSecond: 0.001, burst: 2 },
      concurrent: 9,
      queued: 1,
      bodyBytes: undefined,
    },
  });
  const first = call();
  first.enter(NOW_MS);
  assertEquals(codeOf(() => call().enter(NOW_MS)), "tenant_full");
  assertEquals(limits.held("running", 1), 1);
  first.leave();
  first.leave();
  assertEquals(codeOf(() => call().enter(NOW_MS)), "rate_limited");
  assertEquals([limits.held("running", 1), limits.held("running", 2)], [0, 0]);
  // The second token of the key is still there: the tenant refused.
  call().enter(NOW_MS + 1_000);
  assertEquals(codeOf(() => call().enter(NOW_MS + 2_000)), "tenant_full");
});

test("Tenancy.takeWaiting() is taken once, and given back once", () => {
  const { call, limits } = tenant({ queued: 1 });
  const one = call();
  one.takeWaiting();
  one.takeWaiting();
  assertEquals(limits.held("waiting", 2), 1);
  assertEquals(codeOf(() => call().takeWaiting()), "tenant_queue_full");
  one.giveWaiting();
  one.leave();
  assertEquals(limits.held("waiting", 2), 0);
  call().takeWaiting();
});

test("Tenancy.takeWaiting() counts for the key as well as for the tenant", () => {
  const { call, limits } = tenant({
    queued: 9,
    key: { ...NONE.key, queued: 1 },
  });
  const one = call();
  one.takeWaiting();
  assertEquals([limits.held("waiting", 1), limits.held("waiting", 2)], [1, 1]);
  assertEquals(codeOf(() => call().takeWaiting()), "tenant_queue_full");
  assertEquals([limits.held("waiting", 1), limits.held("waiting", 2)], [1, 1]);
  one.leave();
  assertEquals([limits.held("waiting", 1), limits.held("waiting", 2)], [0, 0]);
  const narrow = tenant({ queued: 0 });
  assertEquals(codeOf(() => narrow.call().takeWaiting()), "tenant_queue_full");
  assertEquals(narrow.limits.held("waiting", 1), 0);
});

test("Tenancy.enter() says when it is worth while to try again", () => {
  const rows = [
    { perSecond: 100, afterMs: 0, retryAfterS: 1 },
    { perSecond: 1, afterMs: 1, retryAfterS: 1 },
    { perSecond: 0.5, afterMs: 0, retryAfterS: 2 },
    { perSecond: 0.5, afterMs: 1_001, retryAfterS: 1 },
    { perSecond: 0.001, afterMs: 0, retryAfterS: 1_000 },
  ];
  for (const { afterMs, perSecond, retryAfterS } of rows) {
    const { call } = tenant({ rate: { perSecond, burst: 1 } });
    call().enter(NOW_MS);
    const refused = assertThrows(
      () => call().enter(NOW_MS + afterMs),
      GatewayError,
    );
    assertEquals(refused.retryAfterS, retryAfterS);
  }
});

test("Tenancy.addHeaders() says what is left, in the words of two APIs", () => {
  const rows = [
    { perSecond: 50, burst: 100, reset: "20ms", policy: "2", t: "1" },
    { perSecond: 0.8, burst: 2, reset: "1.25s", policy: "3", t: "2" },
    { perSecond: 1 / 360, burst: 1, reset: "6m0s", policy: "360", t: "360" },
    { perSecond: 0.01, burst: 1, reset: "1m40s", policy: "100", t: "100" },
  ];
  for (const { burst, perSecond, policy, reset, t } of rows) {
    const one = tenant({ rate: { perSecond, burst } }).call();
    one.enter(NOW_MS);
    const headers: Header[] = [];
    one.addHeaders(headers);
    assertEquals(headers, [
      ["x-ratelimit-limit-requests", String(burst)],
      ["x-ratelimit-remaining-requests", String(burst - 1)],
      ["x-ratelimit-reset-requests", reset],
      ["ratelimit-policy", `"requests";q=${burst};w=${policy}`],
      ["ratelimit", `"requests";r=${burst - 1};t=${t}`],
    ]);
    for (const [name] of headers) assertEquals(one.answersFor(name), true);
    assertEquals(one.answersFor("x-ratelimit-limit-tokens"), false);
  }
  const free = tenant({}).call();
  free.enter(NOW_MS);
  const headers: Header[] = [];
  free.addHeaders(headers);
  assertEquals([headers, free.answersFor("ratelimit")], [[], false]);
});

test("Tenancy.addHeaders() tells of the limit that is the nearest", () => {
  const rows = [
    { tenantBurst: 9, keyBurst: 3, limit: "3" },
    { tenantBurst: 3, keyBurst: 9, limit: "3" },
  ];
  for (const { keyBurst, limit, tenantBurst } of rows) {
    const one = tenant({
      rate: { perSecond: 1, burst: tenantBurst },
      key: { ...NONE.key, rate: { perSecond: 1, burst: keyBurst } },
    }).call();
    one.enter(NOW_MS);
    const headers: Header[] = [];
    one.addHeaders(headers);
    assertEquals(headers[0], ["x-ratelimit-limit-requests", limit]);
  }
});

test("Tenancy.settle() counts each call by what its client was told", () => {
  const broken = (code: ErrorCode) =>
    ({ kind: "broken", error: new GatewayError(code) }) as const;
  const table: [end: RelayEnd, status: number, outcome: TenantOutcome][] = [
    [{ kind: "complete" }, 101, "1xx"],
    [{ kind: "complete" }, 200, "2xx"],
    [{ kind: "complete" }, 299, "2xx"],
    [{ kind: "complete" }, 304, "3xx"],
    [{ kind: "complete" }, 429, "4xx"],
    [{ kind: "complete" }, 500, "5xx"],
    [{ kind: "client_gone" }, 200, "client_gone"],
    [broken("client_gone"), 0, "client_gone"],
    [broken("model_forbidden"), 0, "4xx"],
    [broken("queue_full"), 0, "4xx"],
    [broken("rate_limited"), 0, "limited"],
    [broken("tenant_full"), 0, "limited"],
    [broken("tenant_queue_full"), 0, "limited"],
    [broken("queue_timeout"), 0, "5xx"],
    [broken("upstream_reset"), 200, "5xx"],
  ];
  for (const [end, status, outcome] of table) {
    const { call, limits, tally } = tenant({});
    const one = call();
    one.enter(NOW_MS);
    one.takeWaiting();
    one.settle(end, status);
    assertEquals(
      tally.sums(2),
      TENANT_OUTCOMES.map((name) => Number(name === outcome)),
      outcome,
    );
    assertEquals([limits.held("running", 2), limits.held("waiting", 2)], [
      0,
      0,
    ]);
  }
});
