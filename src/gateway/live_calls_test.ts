/**
 * The requests under way as they are shown: the oldest, and nothing secret.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { KeyPlan } from "../core/scan/key_plan.ts";
import { Roster } from "../core/roster.ts";
import { parseSource } from "../session_keys/parse.ts";
import { type Call, newCall } from "./call.ts";
import type { ClientRequest } from "./client_request.ts";
import { oldestCalls } from "./live_calls.ts";

const PLAN = new KeyPlan(
  ["header:x-key", "path:/v1/threads/{id}/*"].map((name) => parseSource(name)),
);

function callTo(target: string, acceptedAtMs = 0): Call {
  const request: ClientRequest = {
    head: { method: "POST", target, headers: [["x-key", "secret"]] },
    body: undefined,
    clientAddress: "127.0.0.1",
    scheme: "http",
    onGone: () => {},
  };
  return newCall(request, `r${acceptedAtMs}`, acceptedAtMs);
}

test("oldestCalls() shows paths without queries and session keys", () => {
  for (
    const [target, path] of [
      ["/v1/threads/secret/runs?key=secret", "/v1/threads/{id}/*"],
      ["/v1/threads/secret", "/v1/threads/{id}/*"],
      ["/v1/threads", "/v1/threads"],
      ["/v1/completions?a=secret", "/v1/completions"],
      ["*", "*"],
      [`/${"a".repeat(300)}`, `/${"a".repeat(255)}`],
    ] as const
  ) {
    const calls = new Roster<Call>();
    calls.add(callTo(target, 1_000));
    const shown = oldestCalls(calls, { count: 1, nowMs: 1_250, plan: PLAN });
    assertEquals(shown, [{
      id: "r1000",
      phase: "accept",
      ageMs: 250,
      method: "POST",
      path,
      endpoint: undefined,
      session: undefined,
    }]);
  }
});

test("oldestCalls() finds the oldest, the oldest first", () => {
  const times = fc.array(fc.nat(1_000), { maxLength: 40 });
  fc.assert(fc.property(times, fc.integer({ min: 0, max: 9 }), (all, count) => {
    const calls = new Roster<Call>();
    for (const atMs of all) calls.add(callTo("/", atMs));
    const shown = oldestCalls(calls, { count, nowMs: 1_000, plan: PLAN });
    const wanted = all.toSorted((one, other) => one - other).slice(0, count);
    assertEquals(shown.map(({ ageMs }) => 1_000 - ageMs), wanted);
  }));
});
