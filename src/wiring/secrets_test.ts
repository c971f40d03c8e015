/**
 * Secrets reach a gateway whole or not at all, and differ without being shown;
 * a dead worker's share of the limits is given back.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { LOAD_NAMES } from "../cli/load_names.ts";
import { parseConfig } from "../config/parse.ts";
import { parseKeyLines } from "../config/key_lines.ts";
import { TenantLimits } from "../core/tenants/tenant_limits.ts";
import { TenantTally } from "../core/tenants/tenant_tally.ts";
import { reclaimWorker } from "./reclaim.ts";
import { authenticationOf, diffSecrets, KeyIssuer } from "./secrets.ts";
import { createSharedState } from "./shared_state.ts";

const NOW_MS = 1_796_000_000_000;

function memory() {
  return {
    tenants: TenantLimits.create(1, NOW_MS),
    tenantTally: TenantTally.create(1),
  };
}

function configOf(document: unknown) {
  const result = parseConfig(document, { names: LOAD_NAMES });
  assert(result.kind === "accepted");
  return result.config;
}

test("authenticationOf() never lets everybody in where keys are asked for", () => {
  const buffers = memory();
  const limits = { buffers, index: 0 };
  const open = configOf({});
  const closed = configOf({ auth: { keys_file: "/keys" } });
  const credentials = new Map();
  assertEquals(authenticationOf(undefined, open, limits), undefined);
  for (const secrets of [undefined, { keys: undefined, credentials }]) {
    assertThrows(
      () => authenticationOf(secrets, closed, limits),
      TypeError,
      'none of "/keys" are known',
    );
  }
  for (const config of [open, closed]) {
    const secrets = { keys: [], credentials };
    assert(authenticationOf(secrets, config, limits) !== undefined);
  }
});

test("diffSecrets() tells that something differs, and nothing of it", () => {
  const none = { keys: undefined, credentials: new Map() };
  const from = {
    keys: parseKeyLines("red:red-key-0123456789"),
    credentials: new Map([
      ["e0", ["authorization", "Bearer one"] as const],
      ["e1", ["x-key", "same"] as const],
    ]),
  };
  const to = {
    keys: parseKeyLines("red:red-key-9876543210\nblue:blue-key-0123456789"),
    credentials: new Map([
      ["e0", ["authorization", "Bearer two"] as const],
      ["e1", ["x-key", "same"] as const],
      ["e2", ["x-key", "new"] as const],
    ]),
  };
  assertEquals(diffSecrets(undefined, none), []);
  assertEquals(diffSecrets(from, from), []);
  const lines = diffSecrets(from, to).map(({ from, path, to }) =>
    `${path}: ${from} -> ${to}`
  );
  assertEquals(lines, [
    "auth.keys_file (content): 1 keys -> 2 keys",
    "endpoints[e0].credential_file (content): *** -> ***",
    "endpoints[e2].credential_file (content): none -> ***",
  ]);
});

test("KeyIssuer.issue() keeps what a key has used when others come", () => {
  const buffers = memory();
  const issuer = new KeyIssuer(buffers);
  const limits = new TenantLimits(buffers.tenants, 0);
  const credentials = new Map();
  const issue = (text: string) =>
    issuer.issue({ keys: parseKeyLines(text), credentials }).keys?.at(-1);
  const before = issue("red:red-key-0123456789");
  assert(before !== undefined);
  limits.take("running", before.tenantSlot, 1);
  const after = issue("blue:blue-key-0123456789\nred:red-key-0123456789");
  assertEquals(after, before);
  assertEquals(limits.held("running", after?.tenantSlot ?? -1), 1);
});

test("reclaimWorker() gives back what a dead worker held of tenants' limits", () => {
  const config = configOf({});
  const state = createSharedState(config, {
    workerCount: 2,
    epochMs: NOW_MS,
    secret: { low: 1, high: 2 },
  });
  const [dead, living] = [0, 1].map((index) =>
    new TenantLimits(state.buffers.tenants, index)
  );
  dead?.take("running", 3, 9);
  dead?.take("waiting", 4, 9);
  living?.take("running", 3, 9);
  reclaimWorker(config, state, { index: 0, nowMs: NOW_MS });
  assertEquals(living?.held("running", 3), 1);
  assertEquals(living?.held("waiting", 4), 0);
});
