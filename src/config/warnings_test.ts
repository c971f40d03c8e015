/**
 * Tests of the warnings.
 *
 * Invariant: each doubtful setting warns, and the settings beside it do not.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { parseConfig } from "./parse.ts";
import { configWarnings } from "./warnings.ts";

function warningsOf(document: Readonly<Record<string, unknown>>): string[] {
  const result = parseConfig({ endpoints: ["http://h"], ...document }, {
    names: {
      parseSource: () => {},
      defaultSources: ["header:x-session-id"],
      policyNames: ["rendezvous", "power_of_two"],
      schedulingNames: ["critical_path", "fcfs", "las"],
    },
  });
  if (result.kind === "refused") throw new Error("Cannot parse the row");
  const isPerRequest = (source: string) => source === "header:x-request-id";
  return configWarnings(result.config, isPerRequest);
}

test("configWarnings() is silent on ordinary settings", () => {
  assertEquals(warningsOf({}), []);
  assertEquals(warningsOf({ admin: { listen: "[::1]:1" } }), []);
  assertEquals(warningsOf({ endpoints: ["http://h/v10", "http://h/a"] }), []);
});

test("configWarnings() warns of request ids as session keys (PS #706)", () => {
  const keys = ["header:x-session-id", "header:x-request-id"];
  const [warning, ...rest] = warningsOf({ session: { keys } });
  assertMatch(warning ?? "", /"header:x-request-id" is an id of single req/);
  assertEquals(rest, []);
});

test("configWarnings() warns of what reaches too far or nowhere", () => {
  const table: [Readonly<Record<string, unknown>>, RegExp][] = [
    [{ endpoints: [] }, /^No endpoint is configured/],
    [{ admin: { listen: "0.0.0.0:9" } }, /^Admin address "0.0.0.0"/],
    [{ tenants: { red: {} } }, /^Limits of "tenants" hold for nobody/],
    [{ tenants: { default: { queued: 0 } } }, /hold for nobody/],
    [{ endpoints: ["http://h/v1"] }, /sent as "\/v1\/v1\/models"$/],
  ];
  for (const [document, pattern] of table) {
    const warnings = warningsOf(document);
    assertEquals(warnings.length, 1);
    assertMatch(warnings[0] ?? "", pattern);
  }
});
