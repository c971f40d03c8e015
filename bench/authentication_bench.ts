/**
 * What API keys and limits add to a request: finding out whose it is, taking
 * its place and its tokens, saying what is left, and giving the place back.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { parseKeyLines } from "../src/config/key_lines.ts";
import type { TenantSettings } from "../src/config/tenants.ts";
import type { Header } from "../src/core/request.ts";
import { DIGEST_WORDS, sha256 } from "../src/core/tenants/sha256.ts";
import { TenantLimits } from "../src/core/tenants/tenant_limits.ts";
import { TenantSlots } from "../src/core/tenants/tenant_slots.ts";
import { TenantTally } from "../src/core/tenants/tenant_tally.ts";
import { Authentication } from "../src/gateway/authentication.ts";
import { newCall } from "../src/gateway/call.ts";

/** As many keys as there may be, of 51 characters each. */
const KEYS = parseKeyLines(
  Array.from({ length: 4_096 }, (_, i) => `t${i % 1_000}:${keyOf(i)}`)
    .join("\n"),
);

/** Everything limited, and nothing ever refused. */
const SETTINGS: TenantSettings = {
  rate: { perSecond: 100_000, burst: 1_000_000 },
  concurrent: 1_000,
  queued: 1_000,
  bodyBytes: undefined,
  priorityMax: undefined,
  models: undefined,
  key: {
    rate: { perSecond: 100_000, burst: 1_000_000 },
    concurrent: 1_000,
    queued: undefined,
    bodyBytes: undefined,
  },
};

function keyOf(index: number): string {
  return `sk-${String(index).padStart(48, "0")}`;
}

function stepOf(settings: TenantSettings, presented: string): () => void {
  const buffers = TenantLimits.create(2, 0);
  const limits = new TenantLimits(buffers, 0);
  const authentication = new Authentication({
    keys: new TenantSlots(limits).assign(KEYS),
    tenants: { others: settings, listed: [] },
    limits,
    tally: new TenantTally(TenantTally.create(2), 0),
  });
  const headers: Header[] = [
    ["host", "gateway.example"],
    ["content-type", "application/json"],
    ["authorization", `Bearer ${presented}`],
    ["x-session-id", "s"],
  ];
  const request = {
    head: { method: "POST", target: "/v1/chat/completions", headers },
    body: undefined,
    clientAddress: "127.0.0.1",
    scheme: "http",
    onGone: () => {},
  } as const;
  let nowMs = 0;
  return () => {
    nowMs += 0.05;
    const call = newCall(request, "id", nowMs);
    try {
      authentication.admit(call);
    } catch {
      return;
    }
    call.tenancy?.scope({ a: 1, b: 2 });
    call.tenancy?.addHeaders([]);
    call.tenancy?.settle({ kind: "complete" }, 200);
  };
}

const NONE: TenantSettings = {
  ...SETTINGS,
  rate: undefined,
  concurrent: undefined,
  queued: undefined,
  key: {
    rate: undefined,
    concurrent: undefined,
    queued: undefined,
    bodyBytes: undefined,
  },
};

const limited = stepOf(SETTINGS, keyOf(4_000));
Deno.bench("a key among 4,096, with all limits", { group: "call" }, limited);

const unlimited = stepOf(NONE, keyOf(4_000));
Deno.bench("a key among 4,096, without limits", { group: "call" }, unlimited);

const unknown = stepOf(SETTINGS, keyOf(5_000));
Deno.bench("an unknown key, refused", { group: "call" }, unknown);

const digest = new Int32Array(DIGEST_WORDS);
const key = keyOf(1);
Deno.bench("SHA-256 of a key", { group: "digest", baseline: true }, () => {
  sha256(key, digest);
});

Deno.bench("SHA-256 of a key, the runtime's", { group: "digest" }, () => {
  createHash("sha256").update(key).digest();
});
